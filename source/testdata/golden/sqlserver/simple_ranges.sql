-- between two rows
SELECT TOP (501) r.[id], r.[version]
FROM (
SELECT * FROM (SELECT TOP (501) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint) AND r.[version] < CAST(@p3 AS tinyint)
ORDER BY r.[version], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] > CAST(@p1 AS tinyint) AND r.[version] < CAST(@p3 AS tinyint)
ORDER BY r.[version], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] = CAST(@p3 AS tinyint) AND r.[id] <= CAST(@p4 AS tinyint) AND r.[version] >= CAST(@p1 AS tinyint) AND (r.[version] > CAST(@p1 AS tinyint) OR (r.[version] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint)))
ORDER BY r.[version], r.[id]) AS s
) AS r
ORDER BY r.[version], r.[id]
-- parameters: version, id, up to version, up to id

-- up to a value, after another
SELECT TOP (501) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] > CAST(@p1 AS tinyint) AND r.[version] <= CAST(@p2 AS tinyint)
ORDER BY r.[version], r.[id]
-- parameters: version, up to version

-- count, after a row and up to a value
SELECT COUNT_BIG(*)
FROM [shop].[orders] AS r
WHERE r.[version] >= CAST(@p1 AS tinyint) AND (r.[version] > CAST(@p1 AS tinyint) OR (r.[version] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint))) AND r.[version] <= CAST(@p3 AS tinyint)
-- parameters: version, id, up to version

-- count
SELECT COUNT_BIG(*)
FROM [shop].[orders] AS r

-- the last one of the next rows, up to a value
SELECT TOP (1) r.[version], r.[id]
FROM (SELECT TOP (4096) r.[version], r.[id]
FROM [shop].[orders] AS r
WHERE r.[version] >= CAST(@p1 AS tinyint) AND (r.[version] > CAST(@p1 AS tinyint) OR (r.[version] = CAST(@p1 AS tinyint) AND r.[id] > CAST(@p2 AS tinyint))) AND r.[version] <= CAST(@p3 AS tinyint)
ORDER BY r.[version], r.[id]
) AS r
ORDER BY r.[version] DESC, r.[id] DESC
-- parameters: version, id, up to version

-- the last row below a value
SELECT TOP (1) r.[version], r.[id]
FROM [shop].[orders] AS r
WHERE r.[version] < CAST(@p1 AS tinyint)
ORDER BY r.[version] DESC, r.[id] DESC
-- parameters: version

-- any row from a value on
SELECT TOP (1) r.[version], r.[id]
FROM [shop].[orders] AS r
WHERE r.[version] >= CAST(@p1 AS tinyint)
-- parameters: version

-- by one key
SELECT r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[id] IN (CAST(@p1 AS tinyint))
-- parameters: id

-- by two keys
SELECT r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[id] IN (CAST(@p1 AS tinyint), CAST(@p2 AS tinyint))
-- parameters: id, id

-- after a row, no order key of four
SELECT TOP (2) r.[id], r.[version]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] = CAST(@p7 AS tinyint) AND r.[id] > CAST(@p8 AS tinyint) AND (1 = 1
	AND (r.[id] <> CAST(@p1 AS tinyint) OR r.[version] <> CAST(@p2 AS tinyint))
	AND (r.[id] IS NOT NULL OR r.[version] IS NOT NULL)
	AND (r.[id] <> CAST(@p3 AS tinyint) OR r.[version] <> CAST(@p4 AS tinyint))
	AND (r.[id] <> CAST(@p5 AS tinyint) OR r.[version] <> CAST(@p6 AS tinyint)))
ORDER BY r.[version], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[version]
FROM [shop].[orders] AS r
WHERE r.[version] > CAST(@p7 AS tinyint) AND (1 = 1
	AND (r.[id] <> CAST(@p1 AS tinyint) OR r.[version] <> CAST(@p2 AS tinyint))
	AND (r.[id] IS NOT NULL OR r.[version] IS NOT NULL)
	AND (r.[id] <> CAST(@p3 AS tinyint) OR r.[version] <> CAST(@p4 AS tinyint))
	AND (r.[id] <> CAST(@p5 AS tinyint) OR r.[version] <> CAST(@p6 AS tinyint)))
ORDER BY r.[version], r.[id]) AS s
) AS r
ORDER BY r.[version], r.[id]
-- parameters: id, version, id, version, id, version, version, id

