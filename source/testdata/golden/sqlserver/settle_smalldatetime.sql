-- after the beginning
SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE r.[c] < CAST(DATEADD(second, 7110, SYSUTCDATETIME()) AS smalldatetime)
ORDER BY r.[c], r.[id]
-- after a row
SELECT TOP (501) r.[id], r.[note], r.[c]
FROM (
SELECT * FROM (SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE r.[c] = CAST(@p1 AS smalldatetime) AND r.[id] > CAST(@p2 AS tinyint) AND r.[c] < CAST(DATEADD(second, 7110, SYSUTCDATETIME()) AS smalldatetime)
ORDER BY r.[c], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE r.[c] > CAST(@p1 AS smalldatetime) AND r.[c] < CAST(DATEADD(second, 7110, SYSUTCDATETIME()) AS smalldatetime)
ORDER BY r.[c], r.[id]) AS s
) AS r
ORDER BY r.[c], r.[id]
-- parameter: c smalldatetime
-- parameter: id tinyint
