SELECT TOP (501) r.[id], r.[updated_at], r.[amount]
FROM (
SELECT * FROM (SELECT TOP (501) r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS tinyint)
ORDER BY r.[updated_at], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] > CAST(@p1 AS datetime2(7))
ORDER BY r.[updated_at], r.[id]) AS s
) AS r
ORDER BY r.[updated_at], r.[id]
-- parameters: updated_at, id
