-- first, parameters []
SELECT TOP (500) r.[id], r.[zoned]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[zoned], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[zoned]
FROM [dbo].[or]]ders] AS r
WHERE r.[zoned] > CAST(@p1 AS datetimeoffset(7))
ORDER BY r.[zoned], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[zoned]
FROM [dbo].[or]]ders] AS r
WHERE r.[zoned] >= CAST(@p1 AS datetimeoffset(7)) AND (r.[zoned] > CAST(@p1 AS datetimeoffset(7)) OR (r.[zoned] = CAST(@p1 AS datetimeoffset(7)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[zoned], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[zoned], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[zoned] DESC, r.[id] DESC

