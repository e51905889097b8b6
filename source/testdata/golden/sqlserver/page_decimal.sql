-- first, parameters []
SELECT TOP (500) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL
ORDER BY r.[amount], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] > CAST(@p1 AS decimal(19,4))
ORDER BY r.[amount], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[amount]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] = CAST(@p1 AS decimal(19,4)) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[amount], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] > CAST(@p1 AS decimal(19,4))
ORDER BY r.[amount], r.[id]) AS s
) AS r
ORDER BY r.[amount], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[amount], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL
ORDER BY r.[amount] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[amount], r.[id]
FROM (SELECT TOP (4096) r.[amount], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] >= CAST(@p1 AS decimal(19,4)) AND (r.[amount] > CAST(@p1 AS decimal(19,4)) OR (r.[amount] = CAST(@p1 AS decimal(19,4)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[amount] <= CAST(@p3 AS decimal(19,4))
ORDER BY r.[amount], r.[id]
) AS r
ORDER BY r.[amount] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[id], r.[amount]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] = CAST(@p1 AS decimal(19,4)) AND r.[id] > CAST(@p2 AS bigint) AND r.[amount] < CAST(@p3 AS decimal(19,4))
ORDER BY r.[amount], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] > CAST(@p1 AS decimal(19,4)) AND r.[amount] < CAST(@p3 AS decimal(19,4))
ORDER BY r.[amount], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] = CAST(@p3 AS decimal(19,4)) AND r.[id] <= CAST(@p4 AS bigint) AND r.[amount] >= CAST(@p1 AS decimal(19,4)) AND (r.[amount] > CAST(@p1 AS decimal(19,4)) OR (r.[amount] = CAST(@p1 AS decimal(19,4)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[amount], r.[id]) AS s
) AS r
ORDER BY r.[amount], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] <= CAST(@p1 AS decimal(19,4))
ORDER BY r.[amount], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] >= CAST(@p1 AS decimal(19,4)) AND (r.[amount] > CAST(@p1 AS decimal(19,4)) OR (r.[amount] = CAST(@p1 AS decimal(19,4)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[amount] <= CAST(@p3 AS decimal(19,4)) AND (r.[amount] < CAST(@p3 AS decimal(19,4)) OR (r.[amount] = CAST(@p3 AS decimal(19,4)) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[amount], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] < CAST(@p1 AS decimal(19,4))
ORDER BY r.[amount] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[amount], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] >= CAST(@p1 AS decimal(19,4))

-- keys, parameters [65536 65537]
SELECT r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0 1]
SELECT TOP (2) r.[id], r.[amount]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] = CAST(@p1 AS decimal(19,4)) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[amount], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[amount]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] > CAST(@p1 AS decimal(19,4)) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[amount], r.[id]) AS s
) AS r
ORDER BY r.[amount], r.[id]

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NULL

