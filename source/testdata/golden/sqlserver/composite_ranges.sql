-- between two rows
SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM (
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[version] = CAST(@p2 AS tinyint) AND r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] > CAST(@p4 AS tinyint) AND r.[updated_at] < CAST(@p5 AS datetime2(7))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[version] = CAST(@p2 AS tinyint) AND r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[updated_at] < CAST(@p5 AS datetime2(7))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[version] > CAST(@p2 AS tinyint) AND r.[updated_at] < CAST(@p5 AS datetime2(7))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] > CAST(@p1 AS datetime2(7)) AND r.[updated_at] < CAST(@p5 AS datetime2(7))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p5 AS datetime2(7)) AND r.[version] < CAST(@p6 AS tinyint) AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND (r.[version] > CAST(@p2 AS tinyint) OR (r.[version] = CAST(@p2 AS tinyint) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] > CAST(@p4 AS tinyint)))))))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p5 AS datetime2(7)) AND r.[version] = CAST(@p6 AS tinyint) AND r.[tenant] < CAST(@p7 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND (r.[version] > CAST(@p2 AS tinyint) OR (r.[version] = CAST(@p2 AS tinyint) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] > CAST(@p4 AS tinyint)))))))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p5 AS datetime2(7)) AND r.[version] = CAST(@p6 AS tinyint) AND r.[tenant] = CAST(@p7 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] <= CAST(@p8 AS tinyint) AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND (r.[version] > CAST(@p2 AS tinyint) OR (r.[version] = CAST(@p2 AS tinyint) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] > CAST(@p4 AS tinyint)))))))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
) AS r
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version, up to tenant, up to id

-- up to a value, after another
SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM (
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[version] > CAST(@p2 AS tinyint) AND r.[updated_at] < CAST(@p3 AS datetime2(7))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] > CAST(@p1 AS datetime2(7)) AND r.[updated_at] < CAST(@p3 AS datetime2(7))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p3 AS datetime2(7)) AND r.[version] <= CAST(@p4 AS tinyint) AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[version] > CAST(@p2 AS tinyint)))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
) AS r
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]
-- parameters: updated_at, version, up to updated_at, up to version

-- count, after a row and up to a value
SELECT COUNT_BIG(*)
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND (r.[version] > CAST(@p2 AS tinyint) OR (r.[version] = CAST(@p2 AS tinyint) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] > CAST(@p4 AS tinyint))))))) AND r.[updated_at] <= CAST(@p5 AS datetime2(7)) AND (r.[updated_at] < CAST(@p5 AS datetime2(7)) OR (r.[updated_at] = CAST(@p5 AS datetime2(7)) AND r.[version] <= CAST(@p6 AS tinyint)))
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version

-- count
SELECT COUNT_BIG(*)
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL

-- the last one of the next rows, up to a value
SELECT TOP (1) r.[updated_at], r.[version], r.[tenant], r.[id]
FROM (SELECT TOP (4096) r.[updated_at], r.[version], r.[tenant], r.[id]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND (r.[version] > CAST(@p2 AS tinyint) OR (r.[version] = CAST(@p2 AS tinyint) AND (r.[tenant] > CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) OR (r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] > CAST(@p4 AS tinyint))))))) AND r.[updated_at] <= CAST(@p5 AS datetime2(7)) AND (r.[updated_at] < CAST(@p5 AS datetime2(7)) OR (r.[updated_at] = CAST(@p5 AS datetime2(7)) AND r.[version] <= CAST(@p6 AS tinyint)))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]
) AS r
ORDER BY r.[updated_at] DESC, r.[version] DESC, r.[tenant] DESC, r.[id] DESC
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version

-- the last row below a value
SELECT TOP (1) r.[updated_at], r.[version], r.[tenant], r.[id]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] <= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] < CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[version] < CAST(@p2 AS tinyint)))
ORDER BY r.[updated_at] DESC, r.[version] DESC, r.[tenant] DESC, r.[id] DESC
-- parameters: updated_at, version

-- any row from a value on
SELECT TOP (1) r.[updated_at], r.[version], r.[tenant], r.[id]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] >= CAST(@p1 AS datetime2(7)) AND (r.[updated_at] > CAST(@p1 AS datetime2(7)) OR (r.[updated_at] = CAST(@p1 AS datetime2(7)) AND r.[version] >= CAST(@p2 AS tinyint)))
-- parameters: updated_at, version

-- by one key
SELECT r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (r.[tenant] = CAST(@p1 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] = CAST(@p2 AS tinyint))
-- parameters: tenant, id

-- by two keys
SELECT r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND (r.[tenant] = CAST(@p1 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] = CAST(@p2 AS tinyint)
	OR r.[tenant] = CAST(@p3 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] = CAST(@p4 AS tinyint))
-- parameters: tenant, id, tenant, id

-- after a row, no order key of four
SELECT TOP (2) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM (
SELECT * FROM (SELECT TOP (2) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p10 AS datetime2(7)) AND r.[version] = CAST(@p11 AS tinyint) AND r.[tenant] = CAST(@p12 COLLATE Latin1_General_CI_AS AS char(10)) AND r.[id] > CAST(@p13 AS tinyint) AND (1 = 1
	AND (r.[tenant] <> CAST(@p1 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p2 AS tinyint) OR r.[version] <> CAST(@p3 AS tinyint))
	AND (r.[tenant] IS NOT NULL OR r.[id] IS NOT NULL OR r.[version] IS NOT NULL)
	AND (r.[tenant] <> CAST(@p4 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p5 AS tinyint) OR r.[version] <> CAST(@p6 AS tinyint))
	AND (r.[tenant] <> CAST(@p7 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p8 AS tinyint) OR r.[version] <> CAST(@p9 AS tinyint)))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p10 AS datetime2(7)) AND r.[version] = CAST(@p11 AS tinyint) AND r.[tenant] > CAST(@p12 COLLATE Latin1_General_CI_AS AS char(10)) AND (1 = 1
	AND (r.[tenant] <> CAST(@p1 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p2 AS tinyint) OR r.[version] <> CAST(@p3 AS tinyint))
	AND (r.[tenant] IS NOT NULL OR r.[id] IS NOT NULL OR r.[version] IS NOT NULL)
	AND (r.[tenant] <> CAST(@p4 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p5 AS tinyint) OR r.[version] <> CAST(@p6 AS tinyint))
	AND (r.[tenant] <> CAST(@p7 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p8 AS tinyint) OR r.[version] <> CAST(@p9 AS tinyint)))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] = CAST(@p10 AS datetime2(7)) AND r.[version] > CAST(@p11 AS tinyint) AND (1 = 1
	AND (r.[tenant] <> CAST(@p1 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p2 AS tinyint) OR r.[version] <> CAST(@p3 AS tinyint))
	AND (r.[tenant] IS NOT NULL OR r.[id] IS NOT NULL OR r.[version] IS NOT NULL)
	AND (r.[tenant] <> CAST(@p4 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p5 AS tinyint) OR r.[version] <> CAST(@p6 AS tinyint))
	AND (r.[tenant] <> CAST(@p7 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p8 AS tinyint) OR r.[version] <> CAST(@p9 AS tinyint)))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (2) r.[tenant], r.[id], r.[updated_at], r.[version], r.[payload]
FROM [shop].[orders] AS r
WHERE r.[updated_at] IS NOT NULL AND r.[updated_at] > CAST(@p10 AS datetime2(7)) AND (1 = 1
	AND (r.[tenant] <> CAST(@p1 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p2 AS tinyint) OR r.[version] <> CAST(@p3 AS tinyint))
	AND (r.[tenant] IS NOT NULL OR r.[id] IS NOT NULL OR r.[version] IS NOT NULL)
	AND (r.[tenant] <> CAST(@p4 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p5 AS tinyint) OR r.[version] <> CAST(@p6 AS tinyint))
	AND (r.[tenant] <> CAST(@p7 COLLATE Latin1_General_CI_AS AS char(10)) OR r.[id] <> CAST(@p8 AS tinyint) OR r.[version] <> CAST(@p9 AS tinyint)))
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]) AS s
) AS r
ORDER BY r.[updated_at], r.[version], r.[tenant], r.[id]
-- parameters: tenant, id, version, tenant, id, version, tenant, id, version, updated_at, version, tenant, id

