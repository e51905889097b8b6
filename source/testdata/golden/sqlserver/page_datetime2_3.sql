-- first, parameters []
SELECT TOP (500) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[at3], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] > CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM (
SELECT * FROM (SELECT TOP (500) r.[name]]x], r.[doc], r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[at3], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[name]]x], r.[doc], r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] > CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[id]) AS s
) AS r
ORDER BY r.[at3], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[at3] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[at3], r.[id]
FROM (SELECT TOP (4096) r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[at3] <= CAST(@p3 AS datetime2(3))
ORDER BY r.[at3], r.[id]
) AS r
ORDER BY r.[at3] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM (
SELECT * FROM (SELECT TOP (500) r.[name]]x], r.[doc], r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint) AND r.[at3] < CAST(@p3 AS datetime2(3))
ORDER BY r.[at3], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[name]]x], r.[doc], r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] > CAST(@p1 AS datetime2(3)) AND r.[at3] < CAST(@p3 AS datetime2(3))
ORDER BY r.[at3], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[name]]x], r.[doc], r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] = CAST(@p3 AS datetime2(3)) AND r.[id] <= CAST(@p4 AS bigint) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[at3], r.[id]) AS s
) AS r
ORDER BY r.[at3], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] <= CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[at3] <= CAST(@p3 AS datetime2(3)) AND (r.[at3] < CAST(@p3 AS datetime2(3)) OR (r.[at3] = CAST(@p3 AS datetime2(3)) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] < CAST(@p1 AS datetime2(3))
ORDER BY r.[at3] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] >= CAST(@p1 AS datetime2(3))

-- keys, parameters [65536 65537]
SELECT r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0 1]
SELECT TOP (2) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM (
SELECT * FROM (SELECT TOP (2) r.[name]]x], r.[doc], r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[at3], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[name]]x], r.[doc], r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] > CAST(@p1 AS datetime2(3)) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[at3], r.[id]) AS s
) AS r
ORDER BY r.[at3], r.[id]

