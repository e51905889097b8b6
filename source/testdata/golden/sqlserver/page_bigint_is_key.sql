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

