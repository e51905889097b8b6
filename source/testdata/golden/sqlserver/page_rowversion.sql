-- first, parameters []
SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[version], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] > CAST(@p1 AS binary(8))
ORDER BY r.[version], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[version]
FROM [dbo].[or]]ders] AS r
WHERE r.[version] >= CAST(@p1 AS binary(8)) AND (r.[version] > CAST(@p1 AS binary(8)) OR (r.[version] = CAST(@p1 AS binary(8)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[version], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[version], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[version] DESC, r.[id] DESC

