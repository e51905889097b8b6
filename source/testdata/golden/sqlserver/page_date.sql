-- first, parameters []
SELECT TOP (500) r.[id], r.[day]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[day], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[day]
FROM [dbo].[or]]ders] AS r
WHERE r.[day] > CAST(@p1 AS date)
ORDER BY r.[day], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[day]
FROM [dbo].[or]]ders] AS r
WHERE r.[day] >= CAST(@p1 AS date) AND (r.[day] > CAST(@p1 AS date) OR (r.[day] = CAST(@p1 AS date) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[day], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[day], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[day] DESC, r.[id] DESC

