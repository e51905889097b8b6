-- first, parameters []
SELECT TOP (500) r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] > CAST(@p1 AS bigint)
ORDER BY r.[id]

-- after, parameters [0]
SELECT TOP (500) r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] > CAST(@p1 AS bigint)
ORDER BY r.[id]

-- latest, parameters []
SELECT TOP (1) r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[id] DESC

-- reach, parameters [0 1]
SELECT TOP (1) r.[id]
FROM (SELECT TOP (4096) r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] > CAST(@p1 AS bigint) AND r.[id] <= CAST(@p2 AS bigint)
ORDER BY r.[id]
) AS r
ORDER BY r.[id] DESC

-- between, parameters [0 1]
SELECT TOP (500) r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] > CAST(@p1 AS bigint) AND r.[id] <= CAST(@p2 AS bigint)
ORDER BY r.[id]

-- up to a value, parameters [1]
SELECT TOP (500) r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] <= CAST(@p1 AS bigint)
ORDER BY r.[id]

-- count, parameters [0 1]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[id] > CAST(@p1 AS bigint) AND r.[id] <= CAST(@p2 AS bigint)

-- below, parameters [0]
SELECT TOP (1) r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] < CAST(@p1 AS bigint)
ORDER BY r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] >= CAST(@p1 AS bigint)

-- keys, parameters [65536 65537]
SELECT r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0]
SELECT TOP (2) r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] > CAST(@p1 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[id]

