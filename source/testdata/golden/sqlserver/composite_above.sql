SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM (
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[version] > CAST(@p2 AS tinyint)
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] > CAST(@p1 AS datetime2(7))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
) AS r
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]
-- parameters: updated_at, version
