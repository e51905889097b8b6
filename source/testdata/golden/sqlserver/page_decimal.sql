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
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[amount] >= CAST(@p1 AS decimal(19,4)) AND (r.[amount] > CAST(@p1 AS decimal(19,4)) OR (r.[amount] = CAST(@p1 AS decimal(19,4)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[amount], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[amount], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL
ORDER BY r.[amount] DESC, r.[id] DESC

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NULL

