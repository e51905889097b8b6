SELECT COUNT(*)
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NULL
