-- Place an order and say so, in one transaction. PostgreSQL.
BEGIN;

INSERT INTO orders (id, customer, total) VALUES (42, 'Ada', 99.50);

-- Lock the aggregate until the commit: who draws the next seq of this order has to wait for us, so that seqs of one
-- aggregate become visible in their order. Every writer of its events takes the same lock.
SELECT pg_advisory_xact_lock(hashtextextended('Order' || chr(31) || '42', 0));

INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
VALUES ('Order', '42', 'OrderPlaced', '{"order_id": 42, "customer": "Ada", "total": 99.50}', 'order-placed-42');

COMMIT;
