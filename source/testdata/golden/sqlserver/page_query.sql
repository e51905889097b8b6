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
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[at3], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[at3], r.[id]
FROM (
SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them
) AS r
WHERE r.[at3] IS NOT NULL AND (
id > 0
)
ORDER BY r.[at3] DESC, r.[id] DESC

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

