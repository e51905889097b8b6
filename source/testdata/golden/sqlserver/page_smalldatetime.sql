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
FROM [dbo].[or]]ders] AS r
WHERE r.[minute] >= CAST(@p1 AS smalldatetime) AND (r.[minute] > CAST(@p1 AS smalldatetime) OR (r.[minute] = CAST(@p1 AS smalldatetime) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[minute], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[minute], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[minute] DESC, r.[id] DESC

