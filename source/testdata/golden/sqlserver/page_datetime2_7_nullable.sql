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
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL AND r.[at7] >= CAST(@p1 AS datetime2(7)) AND (r.[at7] > CAST(@p1 AS datetime2(7)) OR (r.[at7] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[at7], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[at7], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NOT NULL
ORDER BY r.[at7] DESC, r.[id] DESC

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[at7] IS NULL

