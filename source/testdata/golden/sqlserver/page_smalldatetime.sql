-- first, parameters []
SELECT TOP (500) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[minute], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] > CAST(@p1 AS smalldatetime)
ORDER BY r.[minute], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[minute]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] = CAST(@p1 AS smalldatetime) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[minute], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] > CAST(@p1 AS smalldatetime)
ORDER BY r.[minute], r.[id]) AS s
) AS r
ORDER BY r.[minute], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[minute], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[minute] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[minute], r.[id]
FROM (SELECT TOP (4096) r.[minute], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] >= CAST(@p1 AS smalldatetime) AND (r.[minute] > CAST(@p1 AS smalldatetime) OR (r.[minute] = CAST(@p1 AS smalldatetime) AND r.[id] > CAST(@p2 AS bigint))) AND r.[minute] <= CAST(@p3 AS smalldatetime)
ORDER BY r.[minute], r.[id]
) AS r
ORDER BY r.[minute] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[id], r.[minute]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] = CAST(@p1 AS smalldatetime) AND r.[id] > CAST(@p2 AS bigint) AND r.[minute] < CAST(@p3 AS smalldatetime)
ORDER BY r.[minute], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] > CAST(@p1 AS smalldatetime) AND r.[minute] < CAST(@p3 AS smalldatetime)
ORDER BY r.[minute], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] = CAST(@p3 AS smalldatetime) AND r.[id] <= CAST(@p4 AS bigint) AND r.[minute] >= CAST(@p1 AS smalldatetime) AND (r.[minute] > CAST(@p1 AS smalldatetime) OR (r.[minute] = CAST(@p1 AS smalldatetime) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[minute], r.[id]) AS s
) AS r
ORDER BY r.[minute], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] <= CAST(@p1 AS smalldatetime)
ORDER BY r.[minute], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] >= CAST(@p1 AS smalldatetime) AND (r.[minute] > CAST(@p1 AS smalldatetime) OR (r.[minute] = CAST(@p1 AS smalldatetime) AND r.[id] > CAST(@p2 AS bigint))) AND r.[minute] <= CAST(@p3 AS smalldatetime) AND (r.[minute] < CAST(@p3 AS smalldatetime) OR (r.[minute] = CAST(@p3 AS smalldatetime) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[minute], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] < CAST(@p1 AS smalldatetime)
ORDER BY r.[minute] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[minute], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] >= CAST(@p1 AS smalldatetime)

-- keys, parameters [65536 65537]
SELECT r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0 1]
SELECT TOP (2) r.[id], r.[minute]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] = CAST(@p1 AS smalldatetime) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[minute], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[minute]
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] > CAST(@p1 AS smalldatetime) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[minute], r.[id]) AS s
) AS r
ORDER BY r.[minute], r.[id]

