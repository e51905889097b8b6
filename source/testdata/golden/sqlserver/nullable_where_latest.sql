SELECT TOP (1) r.[updated_at], r.[id]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL
ORDER BY r.[updated_at] DESC, r.[id] DESC
