SELECT TOP (1) r.[id]
FROM [shop].[orders] AS r
ORDER BY r.[id] DESC
