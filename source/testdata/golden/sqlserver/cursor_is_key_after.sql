SELECT TOP (501) r.[id], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[id] > CAST(@p1 AS tinyint)
ORDER BY r.[id]
-- parameters: id
