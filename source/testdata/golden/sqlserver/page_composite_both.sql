-- first, parameters []
SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- above, parameters [0 1]
SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] > CAST(@p2 AS decimal(19,4))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- after, parameters [0 1 2 3 4 5 6]
SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit)))))))))))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- latest, parameters []
SELECT TOP (1) r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL
ORDER BY r.[at3] DESC, r.[amount] DESC, r.[tenant] DESC, r.[guid] DESC, r.[clock] DESC, r.[hash] DESC, r.[flag] DESC

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NULL

