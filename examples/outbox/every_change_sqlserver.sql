-- Every insert, update and delete of orders as an event of the outbox, with the row before and after it. SQL Server and
-- Azure SQL. Who writes an order holds its row until the commit, so that the events of one order have the order of its
-- changes. A change of the key ends one order and begins another.
CREATE TRIGGER orders_to_outbox ON orders AFTER INSERT, UPDATE, DELETE AS
BEGIN
    SET NOCOUNT ON;
    INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
    SELECT N'Order', CAST(COALESCE(i.id, d.id) AS nvarchar(255)),
        CASE WHEN d.id IS NULL THEN N'OrderInserted' WHEN i.id IS NULL THEN N'OrderDeleted' ELSE N'OrderUpdated' END,
        CONCAT(N'{"before":', COALESCE((SELECT d.id, d.customer, d.total FROM (VALUES (1)) AS one (n)
                WHERE d.id IS NOT NULL FOR JSON PATH, INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER), N'null'),
            N',"after":', COALESCE((SELECT i.id, i.customer, i.total FROM (VALUES (1)) AS one (n)
                WHERE i.id IS NOT NULL FOR JSON PATH, INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER), N'null'), N'}'),
        CAST(NEWID() AS nvarchar(36))
    FROM inserted AS i FULL JOIN deleted AS d ON d.id = i.id;
END;
