-- Place an order and say so, in one transaction. SQL Server and Azure SQL.
SET XACT_ABORT ON;
BEGIN TRANSACTION;

INSERT INTO orders (id, customer, total) VALUES (42, N'Ada', 99.50);

-- Lock the aggregate until the commit: who draws the next seq of this order has to wait for us, so that seqs of one
-- aggregate become visible in their order. Every writer of its events takes the same lock.
DECLARE @resource nvarchar(64) = CONVERT(nvarchar(64), HASHBYTES('SHA2_256', CONCAT(CAST(N'Order' AS nvarchar(255)), NCHAR(31), CAST(N'42' AS nvarchar(255)))), 2), @got int;
EXEC @got = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 30000;
IF @got < 0 THROW 50000, 'another transaction has held the aggregate for 30 s', 1;

INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
VALUES (N'Order', N'42', N'OrderPlaced', N'{"order_id": 42, "customer": "Ada", "total": 99.50}', N'order-placed-42');

COMMIT;
