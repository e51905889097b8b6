-- first, parameters []
SELECT TOP (500) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[legacy], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] > CAST(@p1 AS datetime)
ORDER BY r.[legacy], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[legacy]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] = CAST(@p1 AS datetime) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[legacy], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] > CAST(@p1 AS datetime)
ORDER BY r.[legacy], r.[id]) AS s
) AS r
ORDER BY r.[legacy], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[legacy], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[legacy] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[legacy], r.[id]
FROM (SELECT TOP (4096) r.[legacy], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] >= CAST(@p1 AS datetime) AND (r.[legacy] > CAST(@p1 AS datetime) OR (r.[legacy] = CAST(@p1 AS datetime) AND r.[id] > CAST(@p2 AS bigint))) AND r.[legacy] <= CAST(@p3 AS datetime)
ORDER BY r.[legacy], r.[id]
) AS r
ORDER BY r.[legacy] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[id], r.[legacy]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] = CAST(@p1 AS datetime) AND r.[id] > CAST(@p2 AS bigint) AND r.[legacy] < CAST(@p3 AS datetime)
ORDER BY r.[legacy], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] > CAST(@p1 AS datetime) AND r.[legacy] < CAST(@p3 AS datetime)
ORDER BY r.[legacy], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] = CAST(@p3 AS datetime) AND r.[id] <= CAST(@p4 AS bigint) AND r.[legacy] >= CAST(@p1 AS datetime) AND (r.[legacy] > CAST(@p1 AS datetime) OR (r.[legacy] = CAST(@p1 AS datetime) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[legacy], r.[id]) AS s
) AS r
ORDER BY r.[legacy], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] <= CAST(@p1 AS datetime)
ORDER BY r.[legacy], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] >= CAST(@p1 AS datetime) AND (r.[legacy] > CAST(@p1 AS datetime) OR (r.[legacy] = CAST(@p1 AS datetime) AND r.[id] > CAST(@p2 AS bigint))) AND r.[legacy] <= CAST(@p3 AS datetime) AND (r.[legacy] < CAST(@p3 AS datetime) OR (r.[legacy] = CAST(@p3 AS datetime) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[legacy], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] < CAST(@p1 AS datetime)
ORDER BY r.[legacy] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[legacy], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] >= CAST(@p1 AS datetime)

-- keys, parameters [65536 65537]
SELECT r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0 1]
SELECT TOP (2) r.[id], r.[legacy]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] = CAST(@p1 AS datetime) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[legacy], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[legacy]
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] > CAST(@p1 AS datetime) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[legacy], r.[id]) AS s
) AS r
ORDER BY r.[legacy], r.[id]

