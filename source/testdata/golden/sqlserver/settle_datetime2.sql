-- after the beginning
SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE r.[c] < CAST(DATEADD(second, 7110, SYSUTCDATETIME()) AS datetime2(7))
ORDER BY r.[c], r.[id]
-- after a row
SELECT TOP (501) r.[id], r.[note], r.[c]
FROM (
SELECT * FROM (SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE r.[c] = CAST(@p1 AS datetime2(7)) AND r.[id] > CAST(@p2 AS tinyint) AND r.[c] < CAST(DATEADD(second, 7110, SYSUTCDATETIME()) AS datetime2(7))
ORDER BY r.[c], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE r.[c] > CAST(@p1 AS datetime2(7)) AND r.[c] < CAST(DATEADD(second, 7110, SYSUTCDATETIME()) AS datetime2(7))
ORDER BY r.[c], r.[id]) AS s
) AS r
ORDER BY r.[c], r.[id]
-- parameter: c datetime2(7)
-- parameter: id tinyint
