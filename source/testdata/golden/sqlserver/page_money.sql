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
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL AND r.[price] >= CAST(@p1 AS money) AND (r.[price] > CAST(@p1 AS money) OR (r.[price] = CAST(@p1 AS money) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[price], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[price], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NOT NULL
ORDER BY r.[price] DESC, r.[id] DESC

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[price] IS NULL

