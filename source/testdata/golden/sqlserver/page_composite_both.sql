-- first, parameters []
SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- above, parameters [0 1]
SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] > CAST(@p2 AS decimal(19,4))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] > CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
) AS r
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- after, parameters [0 1 2 3 4 5 6]
SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] = CAST(@p5 AS time(7)) AND r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit)
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] = CAST(@p5 AS time(7)) AND r.[hash] > CAST(@p6 AS binary(16))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] > CAST(@p5 AS time(7))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] > CAST(@p4 AS uniqueidentifier)
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] > CAST(@p2 AS decimal(19,4))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] > CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
) AS r
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- latest, parameters []
SELECT TOP (1) r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL
ORDER BY r.[at3] DESC, r.[amount] DESC, r.[tenant] DESC, r.[guid] DESC, r.[clock] DESC, r.[hash] DESC, r.[flag] DESC

-- reach, parameters [0 1 2 3 4 5 6 7 8]
SELECT TOP (1) r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM (SELECT TOP (4096) r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit))))))))))))) AND r.[at3] <= CAST(@p8 AS datetime2(3)) AND (r.[at3] < CAST(@p8 AS datetime2(3)) OR (r.[at3] = CAST(@p8 AS datetime2(3)) AND r.[amount] <= CAST(@p9 AS decimal(19,4))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
) AS r
ORDER BY r.[at3] DESC, r.[amount] DESC, r.[tenant] DESC, r.[guid] DESC, r.[clock] DESC, r.[hash] DESC, r.[flag] DESC

-- between, parameters [0 1 2 3 4 5 6 7 8 9 10 11 12 13]
SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] = CAST(@p5 AS time(7)) AND r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit) AND r.[at3] < CAST(@p8 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] = CAST(@p5 AS time(7)) AND r.[hash] > CAST(@p6 AS binary(16)) AND r.[at3] < CAST(@p8 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] > CAST(@p5 AS time(7)) AND r.[at3] < CAST(@p8 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] > CAST(@p4 AS uniqueidentifier) AND r.[at3] < CAST(@p8 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[at3] < CAST(@p8 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] > CAST(@p2 AS decimal(19,4)) AND r.[at3] < CAST(@p8 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] > CAST(@p1 AS datetime2(3)) AND r.[at3] < CAST(@p8 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p8 AS datetime2(3)) AND r.[amount] < CAST(@p9 AS decimal(19,4)) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit)))))))))))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p8 AS datetime2(3)) AND r.[amount] = CAST(@p9 AS decimal(19,4)) AND r.[tenant] < CAST(@p10 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit)))))))))))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p8 AS datetime2(3)) AND r.[amount] = CAST(@p9 AS decimal(19,4)) AND r.[tenant] = CAST(@p10 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] < CAST(@p11 AS uniqueidentifier) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit)))))))))))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p8 AS datetime2(3)) AND r.[amount] = CAST(@p9 AS decimal(19,4)) AND r.[tenant] = CAST(@p10 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p11 AS uniqueidentifier) AND r.[clock] < CAST(@p12 AS time(7)) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit)))))))))))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p8 AS datetime2(3)) AND r.[amount] = CAST(@p9 AS decimal(19,4)) AND r.[tenant] = CAST(@p10 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p11 AS uniqueidentifier) AND r.[clock] = CAST(@p12 AS time(7)) AND r.[hash] < CAST(@p13 AS binary(16)) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit)))))))))))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p8 AS datetime2(3)) AND r.[amount] = CAST(@p9 AS decimal(19,4)) AND r.[tenant] = CAST(@p10 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p11 AS uniqueidentifier) AND r.[clock] = CAST(@p12 AS time(7)) AND r.[hash] = CAST(@p13 AS binary(16)) AND r.[flag] <= CAST(@p14 AS bit) AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit)))))))))))))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
) AS r
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- up to a value, parameters [7 8]
SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] < CAST(@p1 AS datetime2(3))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] <= CAST(@p2 AS decimal(19,4))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
) AS r
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- count, parameters [0 1 2 3 4 5 6 7 8 9 10 11 12 13]
SELECT COUNT_BIG(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND (r.[amount] > CAST(@p2 AS decimal(19,4)) OR (r.[amount] = CAST(@p2 AS decimal(19,4)) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] > CAST(@p4 AS uniqueidentifier) OR (r.[guid] = CAST(@p4 AS uniqueidentifier) AND (r.[clock] > CAST(@p5 AS time(7)) OR (r.[clock] = CAST(@p5 AS time(7)) AND (r.[hash] > CAST(@p6 AS binary(16)) OR (r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit))))))))))))) AND r.[at3] <= CAST(@p8 AS datetime2(3)) AND (r.[at3] < CAST(@p8 AS datetime2(3)) OR (r.[at3] = CAST(@p8 AS datetime2(3)) AND (r.[amount] < CAST(@p9 AS decimal(19,4)) OR (r.[amount] = CAST(@p9 AS decimal(19,4)) AND (r.[tenant] < CAST(@p10 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p10 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[guid] < CAST(@p11 AS uniqueidentifier) OR (r.[guid] = CAST(@p11 AS uniqueidentifier) AND (r.[clock] < CAST(@p12 AS time(7)) OR (r.[clock] = CAST(@p12 AS time(7)) AND (r.[hash] < CAST(@p13 AS binary(16)) OR (r.[hash] = CAST(@p13 AS binary(16)) AND r.[flag] <= CAST(@p14 AS bit)))))))))))))

-- below, parameters [0 1]
SELECT TOP (1) r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] <= CAST(@p1 AS datetime2(3)) AND (r.[at3] < CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] < CAST(@p2 AS decimal(19,4))))
ORDER BY r.[at3] DESC, r.[amount] DESC, r.[tenant] DESC, r.[guid] DESC, r.[clock] DESC, r.[hash] DESC, r.[flag] DESC

-- from, parameters [0 1]
SELECT TOP (1) r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] >= CAST(@p1 AS datetime2(3)) AND (r.[at3] > CAST(@p1 AS datetime2(3)) OR (r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] >= CAST(@p2 AS decimal(19,4))))

-- keys, parameters [65536 65537 65538 65539 65540 65541 65542 65543 65544 65545]
SELECT r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND (r.[tenant] = CAST(@p1 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p2 AS uniqueidentifier) AND r.[clock] = CAST(@p3 AS time(7)) AND r.[hash] = CAST(@p4 AS binary(16)) AND r.[flag] = CAST(@p5 AS bit)
	OR r.[tenant] = CAST(@p6 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p7 AS uniqueidentifier) AND r.[clock] = CAST(@p8 AS time(7)) AND r.[hash] = CAST(@p9 AS binary(16)) AND r.[flag] = CAST(@p10 AS bit))

-- avoid, parameters [0 1 2 3 4 5 6]
SELECT TOP (2) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM (
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] = CAST(@p5 AS time(7)) AND r.[hash] = CAST(@p6 AS binary(16)) AND r.[flag] > CAST(@p7 AS bit) AND (1 = 1
	AND (r.[tenant] IS NOT NULL OR r.[guid] IS NOT NULL OR r.[clock] IS NOT NULL OR r.[hash] IS NOT NULL OR r.[flag] IS NOT NULL))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] = CAST(@p5 AS time(7)) AND r.[hash] > CAST(@p6 AS binary(16)) AND (1 = 1
	AND (r.[tenant] IS NOT NULL OR r.[guid] IS NOT NULL OR r.[clock] IS NOT NULL OR r.[hash] IS NOT NULL OR r.[flag] IS NOT NULL))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] = CAST(@p4 AS uniqueidentifier) AND r.[clock] > CAST(@p5 AS time(7)) AND (1 = 1
	AND (r.[tenant] IS NOT NULL OR r.[guid] IS NOT NULL OR r.[clock] IS NOT NULL OR r.[hash] IS NOT NULL OR r.[flag] IS NOT NULL))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[guid] > CAST(@p4 AS uniqueidentifier) AND (1 = 1
	AND (r.[tenant] IS NOT NULL OR r.[guid] IS NOT NULL OR r.[clock] IS NOT NULL OR r.[hash] IS NOT NULL OR r.[flag] IS NOT NULL))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] = CAST(@p2 AS decimal(19,4)) AND r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (1 = 1
	AND (r.[tenant] IS NOT NULL OR r.[guid] IS NOT NULL OR r.[clock] IS NOT NULL OR r.[hash] IS NOT NULL OR r.[flag] IS NOT NULL))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] = CAST(@p1 AS datetime2(3)) AND r.[amount] > CAST(@p2 AS decimal(19,4)) AND (1 = 1
	AND (r.[tenant] IS NOT NULL OR r.[guid] IS NOT NULL OR r.[clock] IS NOT NULL OR r.[hash] IS NOT NULL OR r.[flag] IS NOT NULL))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[id], r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NOT NULL AND r.[at3] > CAST(@p1 AS datetime2(3)) AND (1 = 1
	AND (r.[tenant] IS NOT NULL OR r.[guid] IS NOT NULL OR r.[clock] IS NOT NULL OR r.[hash] IS NOT NULL OR r.[flag] IS NOT NULL))
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]) AS s
) AS r
ORDER BY r.[at3], r.[amount], r.[tenant], r.[guid], r.[clock], r.[hash], r.[flag]

-- nulls of the cursor, parameters []
SELECT COUNT(*)
FROM [dbo].[or]]ders] AS r
WHERE r.[amount] IS NULL

