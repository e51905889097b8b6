SELECT TOP (501) r.[id], r.[version]
FROM (
SELECT * FROM (SELECT TOP (501) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint)
ORDER BY r.[version], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] > CAST(@p1 AS tinyint)
ORDER BY r.[version], r.[id]) AS s
) AS r
ORDER BY r.[version], r.[id]
-- parameters: version, id
