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
FROM [dbo].[or]]ders] AS r
WHERE r.[legacy] >= CAST(@p1 AS datetime) AND (r.[legacy] > CAST(@p1 AS datetime) OR (r.[legacy] = CAST(@p1 AS datetime) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[legacy], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[legacy], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[legacy] DESC, r.[id] DESC

