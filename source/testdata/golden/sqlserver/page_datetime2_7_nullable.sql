-- first, parameters []
SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], CAST(r.[doc] AS nvarchar(max))
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL
ORDER BY r.[at7], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], CAST(r.[doc] AS nvarchar(max))
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] > CAST(@p1 AS datetime2(7))
ORDER BY r.[at7], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], CAST(r.[doc] AS nvarchar(max))
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], r.[doc]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS bigint)
ORDER BY r.[at7], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], r.[doc]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] > CAST(@p1 AS datetime2(7))
ORDER BY r.[at7], r.[id]) AS s
) AS r
ORDER BY r.[at7], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[at7], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL
ORDER BY r.[at7] DESC, r.[id] DESC

-- reach, parameters [0 1 2]
SELECT TOP (1) r.[at7], r.[id]
FROM (SELECT TOP (4096) r.[at7], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] >= CAST(@p1 AS datetime2(7)) AND (r.[at7] > CAST(@p1 AS datetime2(7)) OR (r.[at7] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[at7] <= CAST(@p3 AS datetime2(7))
ORDER BY r.[at7], r.[id]
) AS r
ORDER BY r.[at7] DESC, r.[id] DESC

-- between, parameters [0 1 2 3]
SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], CAST(r.[doc] AS nvarchar(max))
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], r.[doc]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS bigint) AND r.[at7] < CAST(@p3 AS datetime2(7))
ORDER BY r.[at7], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], r.[doc]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] > CAST(@p1 AS datetime2(7)) AND r.[at7] < CAST(@p3 AS datetime2(7))
ORDER BY r.[at7], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], r.[doc]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] = CAST(@p3 AS datetime2(7)) AND r.[id] <= CAST(@p4 AS bigint) AND r.[at7] >= CAST(@p1 AS datetime2(7)) AND (r.[at7] > CAST(@p1 AS datetime2(7)) OR (r.[at7] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[at7], r.[id]) AS s
) AS r
ORDER BY r.[at7], r.[id]

-- up to a value, parameters [2]
SELECT TOP (500) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], CAST(r.[doc] AS nvarchar(max))
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] <= CAST(@p1 AS datetime2(7))
ORDER BY r.[at7], r.[id]

-- count, parameters [0 1 2 3]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] >= CAST(@p1 AS datetime2(7)) AND (r.[at7] > CAST(@p1 AS datetime2(7)) OR (r.[at7] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS bigint))) AND r.[at7] <= CAST(@p3 AS datetime2(7)) AND (r.[at7] < CAST(@p3 AS datetime2(7)) OR (r.[at7] = CAST(@p3 AS datetime2(7)) AND r.[id] <= CAST(@p4 AS bigint)))

-- below, parameters [0]
SELECT TOP (1) r.[at7], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] < CAST(@p1 AS datetime2(7))
ORDER BY r.[at7] DESC, r.[id] DESC

-- from, parameters [0]
SELECT TOP (1) r.[at7], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] >= CAST(@p1 AS datetime2(7))

-- keys, parameters [65536 65537]
SELECT r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], CAST(r.[doc] AS nvarchar(max))
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[id] IN (CAST(@p1 AS bigint), CAST(@p2 AS bigint))

-- avoid, parameters [0 1]
SELECT TOP (2) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], CAST(r.[doc] AS nvarchar(max))
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], r.[doc]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS bigint) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[at7], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[tenant], r.[name]]x], r.[small], r.[amount], r.[price], r.[at7], r.[at3], r.[legacy], r.[minute], r.[day], r.[zoned], r.[clock], r.[guid], r.[version], r.[hash], r.[flag], r.[doc]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] > CAST(@p1 AS datetime2(7)) AND (1 = 1
	AND (r.[id] IS NOT NULL))
ORDER BY r.[at7], r.[id]) AS s
) AS r
ORDER BY r.[at7], r.[id]

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NULL

