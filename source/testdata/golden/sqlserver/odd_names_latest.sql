SELECT TOP (1) r.[Select "x" [y]] `z` 'é'], r.[id]
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL
ORDER BY r.[Select "x" [y]] `z` 'é'] DESC, r.[id] DESC
