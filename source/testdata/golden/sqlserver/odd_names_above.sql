SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] > CAST(@p1 AS tinyint)
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]
-- parameters: Select "x" [y] `z` 'é'
