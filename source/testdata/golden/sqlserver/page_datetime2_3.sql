-- first, parameters []
SELECT TOP (500) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[at3], r.[id]

-- above, parameters [0]
SELECT TOP (500) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] > CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[id]

-- after, parameters [0 1]
SELECT TOP (500) r.[name]]x], CAST(r.[doc] AS nvarchar(max)), r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
WHERE r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[id] > CAST(@p2 AS bigint)))
ORDER BY r.[at3], r.[id]

-- latest, parameters []
SELECT TOP (1) r.[at3], r.[id]
FROM [dbo].[or]]ders] AS r
ORDER BY r.[at3] DESC, r.[id] DESC

