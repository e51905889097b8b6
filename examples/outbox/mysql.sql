-- Place an order and say so, in one transaction. MySQL and MariaDB.
START TRANSACTION;

INSERT INTO orders (id, customer, total) VALUES (42, 'Ada', 99.50);

-- Lock the aggregate until the commit: who draws the next seq of this order has to wait for us, so that seqs of one
-- aggregate become visible in their order. MySQL has no lock of a name that ends with the transaction, so it is one of 1,024
-- rows (`rowrelay outbox init` makes them). Every writer of its events takes the same lock.
SELECT slot FROM rowrelay_locks WHERE slot IN (CRC32(CONVERT(CONCAT('Order', CHAR(31), '42') USING utf8mb4)) & 1023) ORDER BY slot FOR UPDATE;

INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
VALUES ('Order', '42', 'OrderPlaced', '{"order_id": 42, "customer": "Ada", "total": 99.50}', 'order-placed-42');

COMMIT;
