-- An order each second, for ever.
SET NOCOUNT ON;
WHILE 1 = 1
BEGIN
    INSERT INTO dbo.orders (customer, total) VALUES (N'customer ' + CAST(ABS(CHECKSUM(NEWID())) % 5 AS nvarchar(10)), ABS(CHECKSUM(NEWID())) % 100000 / 100.0);
    WAITFOR DELAY '00:00:01';
END;
