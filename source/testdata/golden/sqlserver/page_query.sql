-- first, parameters []
SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
)
ORDER BY r.[at3], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] > CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[at3], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] > CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[id]) AS s
) AS r
ORDER BY r.[at3], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[at3], r.[id]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL
ORDER BY r.[at3] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[at3], r.[id]
FROM (SELECT TOP (4096) r.[at3], r.[id]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[at3] <= CAST(@p3 AS datetime2(3))
ORDER BY r.[at3], r.[id]
) AS r
ORDER BY r.[at3] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint) AND r.[at3] < CAST(@p3 AS datetime2(3))
ORDER BY r.[at3], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] > CAST(@p1 AS datetime2(3)) AND r.[at3] < CAST(@p3 AS datetime2(3))
ORDER BY r.[at3], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] = CAST(@p3 AS datetime2(3)) AND r.[id] <= CAST(@p4 AS bigint) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[at3], r.[id]) AS s
) AS r
ORDER BY r.[at3], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] <= CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[at3] <= CAST(@p3 AS datetime2(3)) AND (r.[at3] < CAST(@p3 AS datetime2(3)) OR (r.[at3] = CAST(@p3 AS datetime2(3)) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[at3], r.[id]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND r.[at3] < CAST(@p1 AS datetime2(3))
ORDER BY r.[at3] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[at3], r.[id]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND r.[at3] >= CAST(@p1 AS datetime2(3))

-- keys, parameters [65536 65537]
SELECT r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))
ORDER BY r.[at3], r.[id]

-- avoid, parameters [0 1]
SELECT TOP (2) r.[id], r.[at3]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[at3], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] > CAST(@p1 AS datetime2(3)) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[at3], r.[id]) AS s
) AS r
ORDER BY r.[at3], r.[id]

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NULL AND (
id > 0
)

-- nulls of the key, parameters []
SELECT COUNT(*)
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[id] IS NULL AND (
id > 0
)

