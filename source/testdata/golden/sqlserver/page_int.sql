-- first, parameters []
SELECT TOP (500) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
)
ORDER BY r.[small], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] > CAST(@p1 AS int)
ORDER BY r.[small], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[small]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] = CAST(@p1 AS int) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[small], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] > CAST(@p1 AS int)
ORDER BY r.[small], r.[id]) AS s
) AS r
ORDER BY r.[small], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[small], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL
ORDER BY r.[small] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[small], r.[id]
FROM (SELECT TOP (4096) r.[small], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND r.[small] >= CAST(@p1 AS int) AND (r.[small] > CAST(@p1 AS int) OR (r.[small] = CAST(@p1 AS int) AND r.[id] > CAST(@p2 AS bigint))) AND r.[small] <= CAST(@p3 AS int)
ORDER BY r.[small], r.[id]
) AS r
ORDER BY r.[small] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[id], r.[small]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] = CAST(@p1 AS int) AND r.[id] > CAST(@p2 AS bigint) AND r.[small] < CAST(@p3 AS int)
ORDER BY r.[small], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] > CAST(@p1 AS int) AND r.[small] < CAST(@p3 AS int)
ORDER BY r.[small], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] = CAST(@p3 AS int) AND r.[id] <= CAST(@p4 AS bigint) AND r.[small] >= CAST(@p1 AS int) AND (r.[small] > CAST(@p1 AS int) OR (r.[small] = CAST(@p1 AS int) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[small], r.[id]) AS s
) AS r
ORDER BY r.[small], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] <= CAST(@p1 AS int)
ORDER BY r.[small], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] >= CAST(@p1 AS int) AND (r.[small] > CAST(@p1 AS int) OR (r.[small] = CAST(@p1 AS int) AND r.[id] > CAST(@p2 AS bigint))) AND r.[small] <= CAST(@p3 AS int) AND (r.[small] < CAST(@p3 AS int) OR (r.[small] = CAST(@p3 AS int) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[small], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND r.[small] < CAST(@p1 AS int)
ORDER BY r.[small] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[small], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND r.[small] >= CAST(@p1 AS int)

-- keys, parameters [65536 65537]
SELECT r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0 1]
SELECT TOP (2) r.[id], r.[small]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] = CAST(@p1 AS int) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[small], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[small]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] > CAST(@p1 AS int) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[small], r.[id]) AS s
) AS r
ORDER BY r.[small], r.[id]

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NULL AND (
amount > 1 OR flag = 1
)

