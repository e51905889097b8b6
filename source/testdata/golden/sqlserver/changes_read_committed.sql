-- rows of a chunk, parameters []
SELECT * FROM (
	SELECT t.[id], t.[tenant], t.[note], t.[version], COALESCE(c.[rowrelay_version], CAST(0 AS bigint)) AS [rowrelay_version], CAST(0 AS bigint) AS [rowrelay_created], t.[tenant] AS [rowrelay_present], c.[rowrelay_mask], c.[rowrelay_context]
	FROM [dbo].[or'ders] AS t OUTER APPLY (
		SELECT n.SYS_CHANGE_VERSION AS [rowrelay_version], CAST(NULL AS varbinary(4100)) AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context] FROM (SELECT n.SYS_CHANGE_VERSION, n.SYS_CHANGE_CONTEXT FROM CHANGETABLE(VERSION [dbo].[or'ders], ([tenant], [id]), (t.[tenant], t.[id])) AS n WHERE n.SYS_CHANGE_VERSION <= @head) AS n
	) AS c
) AS r

-- keys, parameters [65536 65537 65538 65539 65540 65541 65542]
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRANSACTION;
DECLARE @head bigint = CHANGE_TRACKING_CURRENT_VERSION();
IF @since < CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]'))
	SET @since = CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]'));
IF @head > @read
SELECT r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], CASE WHEN r.[rowrelay_mask] IS NOT NULL THEN (SELECT m.name AS n FROM sys.columns AS m
	WHERE m.object_id = OBJECT_ID(N'[dbo].[or''ders]') AND CHANGE_TRACKING_IS_COLUMN_IN_MASK(m.column_id, r.[rowrelay_mask]) = 1 FOR JSON PATH) END, CONVERT(varchar(258), r.[rowrelay_context], 1)
FROM (
	SELECT COALESCE(t.[id], c.[id]) AS [id], COALESCE(t.[tenant], c.[tenant]) AS [tenant], t.[note], t.[version], c.[rowrelay_version], c.[rowrelay_created], t.[tenant] AS [rowrelay_present], c.[rowrelay_mask], c.[rowrelay_context]
	FROM (SELECT k.[tenant], k.[id], COALESCE(n.SYS_CHANGE_VERSION, 0) AS [rowrelay_version], CAST(0 AS bigint) AS [rowrelay_created], 1 AS [rowrelay_gone], CAST(NULL AS varbinary(4100)) AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context]
		FROM (VALUES (CAST(@p1 COLLATE Latin1_General_CI_AS AS varchar(20)), CAST(@p2 AS bigint)), (CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)), CAST(@p4 AS bigint))) AS k ([tenant], [id])
		OUTER APPLY (SELECT n.SYS_CHANGE_VERSION, n.SYS_CHANGE_CONTEXT FROM CHANGETABLE(VERSION [dbo].[or'ders], ([tenant], [id]), (k.[tenant], k.[id])) AS n WHERE n.SYS_CHANGE_VERSION <= @head) AS n) AS c LEFT JOIN [dbo].[or'ders] AS t ON t.[tenant] = c.[tenant] AND t.[id] = c.[id]
	WHERE c.[rowrelay_gone] = 1 OR t.[tenant] IS NOT NULL
) AS r
WHERE (
r.[rowrelay_present] IS NULL OR (
note <> 'x'
)
) AND 1 = 1;
SET @told = CONCAT(@head, N'|', CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]')), N'|', (
	SELECT CONCAT(N'object ', t.object_id, N'/', t.begin_version, N'/', CONVERT(nvarchar(33), i.create_date, 126))
	FROM sys.change_tracking_tables AS t
	LEFT JOIN sys.internal_tables AS i ON i.parent_object_id = t.object_id AND i.internal_type = 209
	WHERE t.object_id = OBJECT_ID(N'[dbo].[or''ders]')));
COMMIT TRANSACTION

