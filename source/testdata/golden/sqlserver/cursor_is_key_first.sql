SELECT TOP (501) r.[id], r.[amount]
FROM [shop].[orders] AS r
ORDER BY r.[id]
