-- after the beginning
SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r WITH (READPAST)
ORDER BY r.[c], r.[id]
-- after a row
SELECT TOP (501) r.[id], r.[note], r.[c]
FROM (
SELECT * FROM (SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r WITH (READPAST)
WHERE r.[c] = CAST(@p1 AS binary(8)) AND r.[id] > CAST(@p2 AS tinyint)
ORDER BY r.[c], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r WITH (READPAST)
WHERE r.[c] > CAST(@p1 AS binary(8))
ORDER BY r.[c], r.[id]) AS s
) AS r
ORDER BY r.[c], r.[id]
-- parameter: c rowversion
-- parameter: id tinyint
