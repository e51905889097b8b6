-- first, parameters []
SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[version], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] > CAST(@p1 AS binary(8))
ORDER BY r.[version], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[version]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] = CAST(@p1 AS binary(8)) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[version], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] > CAST(@p1 AS binary(8))
ORDER BY r.[version], r.[id]) AS s
) AS r
ORDER BY r.[version], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[version], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[version] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[version], r.[id]
FROM (SELECT TOP (4096) r.[version], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] >= CAST(@p1 AS binary(8)) AND (r.[version] > CAST(@p1 AS binary(8)) OR (r.[version] = CAST(@p1 AS binary(8)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[version] <= CAST(@p3 AS binary(8))
ORDER BY r.[version], r.[id]
) AS r
ORDER BY r.[version] DESC, r.[id] DESC

-- reach below the watermark, parameters [65536]
DECLARE @safe binary(8) = MIN_ACTIVE_ROWVERSION();
SET @watermark = CAST(CAST(@safe AS bigint) AS nvarchar(20)) + N' ' + CAST(CAST(@@DBTS AS bigint) AS nvarchar(20)) + N' '
	+ CONVERT(nvarchar(60), DATABASEPROPERTYEX(DB_NAME(), N'Updateability'));
SELECT TOP (1) r.[version], r.[id]
FROM (SELECT TOP (4096) r.[version], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] < @safe
ORDER BY r.[version], r.[id]
) AS r
ORDER BY r.[version] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[id], r.[version]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] = CAST(@p1 AS binary(8)) AND r.[id] > CAST(@p2 AS bigint) AND r.[version] < CAST(@p3 AS binary(8))
ORDER BY r.[version], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] > CAST(@p1 AS binary(8)) AND r.[version] < CAST(@p3 AS binary(8))
ORDER BY r.[version], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] = CAST(@p3 AS binary(8)) AND r.[id] <= CAST(@p4 AS bigint) AND r.[version] >= CAST(@p1 AS binary(8)) AND (r.[version] > CAST(@p1 AS binary(8)) OR (r.[version] = CAST(@p1 AS binary(8)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[version], r.[id]) AS s
) AS r
ORDER BY r.[version], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] <= CAST(@p1 AS binary(8))
ORDER BY r.[version], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[version] >= CAST(@p1 AS binary(8)) AND (r.[version] > CAST(@p1 AS binary(8)) OR (r.[version] = CAST(@p1 AS binary(8)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[version] <= CAST(@p3 AS binary(8)) AND (r.[version] < CAST(@p3 AS binary(8)) OR (r.[version] = CAST(@p3 AS binary(8)) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[version], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] < CAST(@p1 AS binary(8))
ORDER BY r.[version] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[version], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] >= CAST(@p1 AS binary(8))

-- keys, parameters [65536 65537]
SELECT r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0 1]
SELECT TOP (2) r.[id], r.[version]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] = CAST(@p1 AS binary(8)) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[version], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] > CAST(@p1 AS binary(8)) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[version], r.[id]) AS s
) AS r
ORDER BY r.[version], r.[id]

