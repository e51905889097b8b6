"""A receiver that bears duplicates and late requests: upsert on (key, cursor) behind a fence (psycopg).

    DATABASE_URL=postgres://… PORT=8080 python upsert.py

It reads output__format=cloudevents, and is what upsert.go and fence.go are, which say why.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg

TABLES = """
CREATE TABLE IF NOT EXISTS order_states (key text, cursor text, data text NOT NULL, PRIMARY KEY (key, cursor));
CREATE TABLE IF NOT EXISTS orders (key text PRIMARY KEY, data text NOT NULL, deleted boolean NOT NULL);
CREATE TABLE IF NOT EXISTS fences (key text PRIMARY KEY, token bigint NOT NULL, number bigint NOT NULL);
"""


def keep(db, event, token, number):
    """Keeps a state. False: a later request was seen for its key, so that this one has been given up by its sender."""
    key = f"{event['rowrelaypoller']}:{event['rowrelaykeyhash']}"
    passed = db.execute(
        """INSERT INTO fences (key, token, number) VALUES (%s, %s, %s)
           ON CONFLICT (key) DO UPDATE SET token = excluded.token, number = excluded.number
           WHERE (excluded.token, excluded.number) >= (fences.token, fences.number)""",
        (key, token, number),
    ).rowcount
    if not passed:
        return False
    data = json.dumps(event["data"])
    db.execute(
        """INSERT INTO order_states (key, cursor, data) VALUES (%s, %s, %s)
           ON CONFLICT (key, cursor) DO UPDATE SET data = excluded.data""",
        (key, event["rowrelaycursor"], data),
    )
    db.execute(
        """INSERT INTO orders (key, data, deleted) VALUES (%s, %s, %s)
           ON CONFLICT (key) DO UPDATE SET data = excluded.data, deleted = excluded.deleted""",
        (key, data, event["type"] == "rowrelay.row.delete"),
    )
    return True


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            events = json.loads(body)
            token, number = int(self.headers["Rowrelay-Fencing-Token"]), int(self.headers["Rowrelay-Delivery"])
            for event in events:  # without these, all events would look like one
                event["rowrelaypoller"], event["rowrelaykeyhash"], event["rowrelaycursor"], event["data"]
        except (ValueError, TypeError, KeyError) as err:
            return self.answer(400, {"error": f"set output__format=cloudevents: {err!r}"})
        try:
            with psycopg.connect(os.environ["DATABASE_URL"]) as db:  # one transaction: all of the request, or nothing
                late = [event["id"] for event in events if not keep(db, event, token, number)]
        except psycopg.Error as err:
            return self.answer(503, {"error": f"nothing was kept: {err}"})
        # Only now is it durable. What is late is named, not swallowed.
        self.answer(200, {"batchItemFailures": [{"itemIdentifier": id} for id in late]})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute(TABLES)
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
