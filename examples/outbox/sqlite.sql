-- Place an order and say so, in one transaction. SQLite has one writer at a time: nothing is to be locked, but begin
-- IMMEDIATE, so that a second writer waits instead of failing.
BEGIN IMMEDIATE;

INSERT INTO orders (id, customer, total) VALUES (42, 'Ada', 99.50);

INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
VALUES ('Order', '42', 'OrderPlaced', '{"order_id": 42, "customer": "Ada", "total": 99.50}', 'order-placed-42');

COMMIT;
