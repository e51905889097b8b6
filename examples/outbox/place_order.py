"""Place an order and say so, in one transaction (psycopg 3, PostgreSQL).

    DATABASE_URL=postgres://… python place_order.py 42 Ada 99.50
"""

import json
import os
import sys

import psycopg


def write_event(cursor, aggregate_type, aggregate_id, event_type, payload, idempotency_key):
    """Writes an event into the outbox, in the transaction of the cursor."""
    # Until the commit: who draws the next seq of this aggregate has to wait for us.
    cursor.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s::text || chr(31) || %s::text, 0))",
        (aggregate_type, aggregate_id),
    )
    cursor.execute(
        "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)"
        " VALUES (%s, %s, %s, %s, %s)",
        (aggregate_type, aggregate_id, event_type, json.dumps(payload), idempotency_key),
    )


def place_order(connection, order_id, customer, total):
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders (id, customer, total) VALUES (%s, %s, %s)", (order_id, customer, total))
        payload = {"order_id": order_id, "customer": customer, "total": total}
        write_event(cursor, "Order", str(order_id), "OrderPlaced", payload, f"order-placed-{order_id}")


if __name__ == "__main__":
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        place_order(connection, int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
