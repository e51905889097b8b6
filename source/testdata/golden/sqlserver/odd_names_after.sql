SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM (
SELECT * FROM (SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint)
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] > CAST(@p1 AS tinyint)
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]) AS s
) AS r
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]
-- parameters: Select "x" [y] `z` 'é', id
