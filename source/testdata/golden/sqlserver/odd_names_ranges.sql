-- between two rows
SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM (
SELECT * FROM (SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint) AND r.[Select "x" [y]] `z` 'é'] < CAST(@p3 AS tinyint)
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] > CAST(@p1 AS tinyint) AND r.[Select "x" [y]] `z` 'é'] < CAST(@p3 AS tinyint)
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] = CAST(@p3 AS tinyint) AND r.[id] <= CAST(@p4 AS tinyint) AND r.[Select "x" [y]] `z` 'é'] >= CAST(@p1 AS tinyint) AND (r.[Select "x" [y]] `z` 'é'] > CAST(@p1 AS tinyint) OR (r.[Select "x" [y]] `z` 'é'] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint)))
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]) AS s
) AS r
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]
-- parameters: Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é', up to id

-- up to a value, after another
SELECT TOP (501) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] > CAST(@p1 AS tinyint) AND r.[Select "x" [y]] `z` 'é'] <= CAST(@p2 AS tinyint)
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]
-- parameters: Select "x" [y] `z` 'é', up to Select "x" [y] `z` 'é'

-- count, after a row and up to a value
SELECT COUNT_BIG(*)
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] >= CAST(@p1 AS tinyint) AND (r.[Select "x" [y]] `z` 'é'] > CAST(@p1 AS tinyint) OR (r.[Select "x" [y]] `z` 'é'] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint))) AND r.[Select "x" [y]] `z` 'é'] <= CAST(@p3 AS tinyint)
-- parameters: Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é'

-- count
SELECT COUNT_BIG(*)
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL

-- the last one of the next rows, up to a value
SELECT TOP (1) r.[Select "x" [y]] `z` 'é'], r.[id]
FROM (SELECT TOP (4096) r.[Select "x" [y]] `z` 'é'], r.[id]
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] >= CAST(@p1 AS tinyint) AND (r.[Select "x" [y]] `z` 'é'] > CAST(@p1 AS tinyint) OR (r.[Select "x" [y]] `z` 'é'] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint))) AND r.[Select "x" [y]] `z` 'é'] <= CAST(@p3 AS tinyint)
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]
) AS r
ORDER BY r.[Select "x" [y]] `z` 'é'] DESC, r.[id] DESC
-- parameters: Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é'

-- the last row below a value
SELECT TOP (1) r.[Select "x" [y]] `z` 'é'], r.[id]
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] < CAST(@p1 AS tinyint)
ORDER BY r.[Select "x" [y]] `z` 'é'] DESC, r.[id] DESC
-- parameters: Select "x" [y] `z` 'é'

-- any row from a value on
SELECT TOP (1) r.[Select "x" [y]] `z` 'é'], r.[id]
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] >= CAST(@p1 AS tinyint)
-- parameters: Select "x" [y] `z` 'é'

-- by one key
SELECT r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[id] IN (CAST(@p1 AS tinyint))
-- parameters: id

-- by two keys
SELECT r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[id] IN (CAST(@p1 AS tinyint), CAST(@p2 AS tinyint))
-- parameters: id, id

-- after a row, no order key of four
SELECT TOP (2) r.[Select "x" [y]] `z` 'é']
FROM (
SELECT * FROM (SELECT TOP (2) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] = CAST(@p4 AS tinyint) AND r.[id] > CAST(@p5 AS tinyint) AND (1 = 1
	AND (r.[Select "x" [y]] `z` 'é'] <> CAST(@p1 AS tinyint) OR r.[Select "x" [y]] `z` 'é'] IS NULL)
	AND (r.[Select "x" [y]] `z` 'é'] IS NOT NULL)
	AND (r.[Select "x" [y]] `z` 'é'] <> CAST(@p2 AS tinyint) OR r.[Select "x" [y]] `z` 'é'] IS NULL)
	AND (r.[Select "x" [y]] `z` 'é'] <> CAST(@p3 AS tinyint) OR r.[Select "x" [y]] `z` 'é'] IS NULL))
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[Select "x" [y]] `z` 'é']
FROM [a.b].[O'Brien"s [x]] `y`] AS r
WHERE r.[Select "x" [y]] `z` 'é'] IS NOT NULL AND r.[Select "x" [y]] `z` 'é'] > CAST(@p4 AS tinyint) AND (1 = 1
	AND (r.[Select "x" [y]] `z` 'é'] <> CAST(@p1 AS tinyint) OR r.[Select "x" [y]] `z` 'é'] IS NULL)
	AND (r.[Select "x" [y]] `z` 'é'] IS NOT NULL)
	AND (r.[Select "x" [y]] `z` 'é'] <> CAST(@p2 AS tinyint) OR r.[Select "x" [y]] `z` 'é'] IS NULL)
	AND (r.[Select "x" [y]] `z` 'é'] <> CAST(@p3 AS tinyint) OR r.[Select "x" [y]] `z` 'é'] IS NULL))
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]) AS s
) AS r
ORDER BY r.[Select "x" [y]] `z` 'é'], r.[id]
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', id

