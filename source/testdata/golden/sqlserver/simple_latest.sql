SELECT TOP (1) r.[version], r.[id]
FROM [shop].[orders] AS r
ORDER BY r.[version] DESC, r.[id] DESC
