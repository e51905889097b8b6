-- after the beginning
DECLARE @safe binary(8) = MIN_ACTIVE_ROWVERSION();
SET @watermark = CAST(CAST(@safe AS bigint) AS nvarchar(20)) + N' ' + CAST(CAST(@@DBTS AS bigint) AS nvarchar(20)) + N' '
	+ CONVERT(nvarchar(60), DATABASEPROPERTYEX(DB_NAME(), N'Updateability'));
SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE (
note <> 'x' OR note IS NULL
) AND r.[c] < @safe
ORDER BY r.[c], r.[id]
-- parameter: watermark nvarchar(max) OUTPUT
-- after a row
DECLARE @safe binary(8) = MIN_ACTIVE_ROWVERSION();
SET @watermark = CAST(CAST(@safe AS bigint) AS nvarchar(20)) + N' ' + CAST(CAST(@@DBTS AS bigint) AS nvarchar(20)) + N' '
	+ CONVERT(nvarchar(60), DATABASEPROPERTYEX(DB_NAME(), N'Updateability'));
SELECT TOP (501) r.[id], r.[note], r.[c]
FROM (
SELECT * FROM (SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE (
note <> 'x' OR note IS NULL
) AND r.[c] = CAST(@p2 AS binary(8)) AND r.[id] > CAST(@p3 AS tinyint) AND r.[c] < @safe
ORDER BY r.[c], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (501) r.[id], r.[note], r.[c]
FROM [orders] AS r
WHERE (
note <> 'x' OR note IS NULL
) AND r.[c] > CAST(@p2 AS binary(8)) AND r.[c] < @safe
ORDER BY r.[c], r.[id]) AS s
) AS r
ORDER BY r.[c], r.[id]
-- parameter: watermark nvarchar(max) OUTPUT
-- parameter: c rowversion
-- parameter: id tinyint
