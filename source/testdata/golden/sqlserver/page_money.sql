-- first, parameters []
SELECT TOP (500) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL
ORDER BY r.[price], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] > CAST(@p1 AS money)
ORDER BY r.[price], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[price]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] = CAST(@p1 AS money) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[price], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] > CAST(@p1 AS money)
ORDER BY r.[price], r.[id]) AS s
) AS r
ORDER BY r.[price], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[price], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL
ORDER BY r.[price] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[price], r.[id]
FROM (SELECT TOP (4096) r.[price], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] >= CAST(@p1 AS money) AND (r.[price] > CAST(@p1 AS money) OR (r.[price] = CAST(@p1 AS money) AND r.[id] > CAST(@p2 AS bigint))) AND r.[price] <= CAST(@p3 AS money)
ORDER BY r.[price], r.[id]
) AS r
ORDER BY r.[price] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[id], r.[price]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] = CAST(@p1 AS money) AND r.[id] > CAST(@p2 AS bigint) AND r.[price] < CAST(@p3 AS money)
ORDER BY r.[price], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] > CAST(@p1 AS money) AND r.[price] < CAST(@p3 AS money)
ORDER BY r.[price], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] = CAST(@p3 AS money) AND r.[id] <= CAST(@p4 AS bigint) AND r.[price] >= CAST(@p1 AS money) AND (r.[price] > CAST(@p1 AS money) OR (r.[price] = CAST(@p1 AS money) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[price], r.[id]) AS s
) AS r
ORDER BY r.[price], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] <= CAST(@p1 AS money)
ORDER BY r.[price], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] >= CAST(@p1 AS money) AND (r.[price] > CAST(@p1 AS money) OR (r.[price] = CAST(@p1 AS money) AND r.[id] > CAST(@p2 AS bigint))) AND r.[price] <= CAST(@p3 AS money) AND (r.[price] < CAST(@p3 AS money) OR (r.[price] = CAST(@p3 AS money) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[price], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] < CAST(@p1 AS money)
ORDER BY r.[price] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[price], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] >= CAST(@p1 AS money)

-- keys, parameters [65536 65537]
SELECT r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0 1]
SELECT TOP (2) r.[id], r.[price]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] = CAST(@p1 AS money) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[price], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[price]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] > CAST(@p1 AS money) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[price], r.[id]) AS s
) AS r
ORDER BY r.[price], r.[id]

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NULL

