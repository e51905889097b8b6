-- between two rows
SELECT TOP (501) r.[id], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[id] > CAST(@p1 AS tinyint) AND r.[id] <= CAST(@p2 AS tinyint)
ORDER BY r.[id]
-- parameters: id, up to id

-- up to a value, after another
SELECT TOP (501) r.[id], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[id] > CAST(@p1 AS tinyint) AND r.[id] <= CAST(@p2 AS tinyint)
ORDER BY r.[id]
-- parameters: id, up to id

-- count, after a row and up to a value
SELECT COUNT_BIG(*)
FROM [shop].[orders] AS r
WHERE r.[id] > CAST(@p1 AS tinyint) AND r.[id] <= CAST(@p2 AS tinyint)
-- parameters: id, up to id

-- count
SELECT COUNT_BIG(*)
FROM [shop].[orders] AS r

-- the last one of the next rows, up to a value
SELECT TOP (1) r.[id]
FROM (SELECT TOP (4096) r.[id]
FROM [shop].[orders] AS r
WHERE r.[id] > CAST(@p1 AS tinyint) AND r.[id] <= CAST(@p2 AS tinyint)
ORDER BY r.[id]
) AS r
ORDER BY r.[id] DESC
-- parameters: id, up to id

-- the last row below a value
SELECT TOP (1) r.[id]
FROM [shop].[orders] AS r
WHERE r.[id] < CAST(@p1 AS tinyint)
ORDER BY r.[id] DESC
-- parameters: id

-- any row from a value on
SELECT TOP (1) r.[id]
FROM [shop].[orders] AS r
WHERE r.[id] >= CAST(@p1 AS tinyint)
-- parameters: id

-- by one key
SELECT r.[id], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[id] IN (CAST(@p1 AS tinyint))
-- parameters: id

-- by two keys
SELECT r.[id], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[id] IN (CAST(@p1 AS tinyint), CAST(@p2 AS tinyint))
-- parameters: id, id

-- after a row, no order key of four
SELECT TOP (2) r.[id], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[id] > CAST(@p4 AS tinyint) AND (1 = 1
	AND (r.[id] <> CAST(@p1 AS tinyint))
	AND (r.[id] IS NOT NULL)
	AND (r.[id] <> CAST(@p2 AS tinyint))
	AND (r.[id] <> CAST(@p3 AS tinyint)))
ORDER BY r.[id]
-- parameters: id, id, id, id

