-- between two rows
SELECT TOP (501) r.[id], r.[updated_at], r.[amount]
FROM (
SELECT * FROM (SELECT TOP (501) r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS tinyint) AND r.[updated_at] < CAST(@p3 AS datetime2(7))
ORDER BY r.[updated_at], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] > CAST(@p1 AS datetime2(7)) AND r.[updated_at] < CAST(@p3 AS datetime2(7))
ORDER BY r.[updated_at], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] = CAST(@p3 AS datetime2(7)) AND r.[id] <= CAST(@p4 AS tinyint) AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS tinyint)))
ORDER BY r.[updated_at], r.[id]) AS s
) AS r
ORDER BY r.[updated_at], r.[id]
-- parameters: updated_at, id, up to updated_at, up to id

-- up to a value, after another
SELECT TOP (501) r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] > CAST(@p1 AS datetime2(7)) AND r.[updated_at] <= CAST(@p2 AS datetime2(7))
ORDER BY r.[updated_at], r.[id]
-- parameters: updated_at, up to updated_at

-- count, after a row and up to a value
SELECT COUNT_BIG(*)
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS tinyint))) AND r.[updated_at] <= CAST(@p3 AS datetime2(7))
-- parameters: updated_at, id, up to updated_at

-- count
SELECT COUNT_BIG(*)
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
)

-- the last one of the next rows, up to a value
SELECT TOP (1) r.[updated_at], r.[id]
FROM (SELECT TOP (4096) r.[updated_at], r.[id]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS tinyint))) AND r.[updated_at] <= CAST(@p3 AS datetime2(7))
ORDER BY r.[updated_at], r.[id]
) AS r
ORDER BY r.[updated_at] DESC, r.[id] DESC
-- parameters: updated_at, id, up to updated_at

-- the last row below a value
SELECT TOP (1) r.[updated_at], r.[id]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] < CAST(@p1 AS datetime2(7))
ORDER BY r.[updated_at] DESC, r.[id] DESC
-- parameters: updated_at

-- any row from a value on
SELECT TOP (1) r.[updated_at], r.[id]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] >= CAST(@p1 AS datetime2(7))
-- parameters: updated_at

-- by one key
SELECT r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[id] IN (CAST(@p1 AS tinyint))
-- parameters: id

-- by two keys
SELECT r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[id] IN (CAST(@p1 AS tinyint), CAST(@p2 AS tinyint))
-- parameters: id, id

-- after a row, no order key of four
SELECT TOP (2) r.[id], r.[updated_at], r.[amount]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] = CAST(@p4 AS datetime2(7)) AND r.[id] > CAST(@p5 AS tinyint) AND (1 = 1
	AND (r.[id] <> CAST(@p1 AS tinyint))
	AND (r.[id] IS NOT NULL)
	AND (r.[id] <> CAST(@p2 AS tinyint))
	AND (r.[id] <> CAST(@p3 AS tinyint)))
ORDER BY r.[updated_at], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[updated_at], r.[amount]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r.[updated_at] > CAST(@p4 AS datetime2(7)) AND (1 = 1
	AND (r.[id] <> CAST(@p1 AS tinyint))
	AND (r.[id] IS NOT NULL)
	AND (r.[id] <> CAST(@p2 AS tinyint))
	AND (r.[id] <> CAST(@p3 AS tinyint)))
ORDER BY r.[updated_at], r.[id]) AS s
) AS r
ORDER BY r.[updated_at], r.[id]
-- parameters: id, id, id, updated_at, id

