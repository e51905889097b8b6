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
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
) AND r.[small] >= CAST(@p1 AS int) AND (r.[small] > CAST(@p1 AS int) OR (r.[small] = CAST(@p1 AS int) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[small], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[small], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NOT NULL AND (
amount > 1 OR flag = 1
)
ORDER BY r.[small] DESC, r.[id] DESC

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[small] IS NULL AND (
amount > 1 OR flag = 1
)

