SELECT TOP (501) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] > CAST(@p1 AS tinyint)
ORDER BY r.[version], r.[id]
-- parameters: version
