SELECT TOP (501) r.[id], r.[version]
FROM [shop].[orders] AS r
ORDER BY r.[version], r.[id]
