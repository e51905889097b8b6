-- page after a version, parameters [0 65536 65537 65538]
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
DECLARE @head bigint = CHANGE_TRACKING_CURRENT_VERSION();
IF @since < CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]'))
	SET @since = CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]'));
IF @head > @read
SELECT TOP (500) r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], CASE WHEN r.[rowrelay_mask] IS NOT NULL THEN (SELECT m.name AS n FROM sys.columns AS m
	WHERE m.object_id = OBJECT_ID(N'[dbo].[or''ders]') AND CHANGE_TRACKING_IS_COLUMN_IN_MASK(m.column_id, r.[rowrelay_mask]) = 1 FOR JSON PATH) END, r.[rowrelay_context]
FROM (SELECT TOP (500) r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], r.[rowrelay_mask], CONVERT(varchar(258), r.[rowrelay_context], 1) AS [rowrelay_context]
FROM (
	SELECT COALESCE(t.[id], c.[id]) AS [id], COALESCE(t.[tenant], c.[tenant]) AS [tenant], t.[note], t.[version], c.[rowrelay_version], c.[rowrelay_created], t.[tenant] AS [rowrelay_present], c.[rowrelay_changed] AS [rowrelay_changed], c.[rowrelay_mask], c.[rowrelay_context]
	FROM (SELECT n.[tenant], n.[id], n.SYS_CHANGE_VERSION AS [rowrelay_version], COALESCE(n.SYS_CHANGE_CREATION_VERSION, 0) AS [rowrelay_created], CASE n.SYS_CHANGE_OPERATION WHEN 'D' THEN 1 ELSE 0 END AS [rowrelay_gone],
		CASE WHEN n.SYS_CHANGE_OPERATION <> 'U' OR n.SYS_CHANGE_COLUMNS IS NULL
			OR CHANGE_TRACKING_IS_COLUMN_IN_MASK(COLUMNPROPERTY(OBJECT_ID(N'[dbo].[or''ders]'), N'note', 'ColumnId'), n.SYS_CHANGE_COLUMNS) = 1
			OR CHANGE_TRACKING_IS_COLUMN_IN_MASK(COLUMNPROPERTY(OBJECT_ID(N'[dbo].[or''ders]'), N'version', 'ColumnId'), n.SYS_CHANGE_COLUMNS) = 1
			THEN n.SYS_CHANGE_VERSION ELSE 0 END AS [rowrelay_changed], n.SYS_CHANGE_COLUMNS AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context]
		FROM CHANGETABLE(CHANGES [dbo].[or'ders], @since) AS n) AS c LEFT JOIN [dbo].[or'ders] AS t ON t.[tenant] = c.[tenant] AND t.[id] = c.[id]
	WHERE c.[rowrelay_gone] = 1 OR t.[tenant] IS NOT NULL
) AS r
WHERE r.[rowrelay_version] > CAST(@p1 AS bigint) AND 1 = 1
ORDER BY r.[rowrelay_version], r.[tenant], r.[id]
) AS r
ORDER BY r.[rowrelay_version], r.[tenant], r.[id];
SET @told = CONCAT(@head, N'|', CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]')), N'|', (
	SELECT CONCAT(N'object ', t.object_id, N'/', t.begin_version, N'/', CONVERT(nvarchar(33), i.create_date, 126))
	FROM sys.change_tracking_tables AS t
	LEFT JOIN sys.internal_tables AS i ON i.parent_object_id = t.object_id AND i.internal_type = 209
	WHERE t.object_id = OBJECT_ID(N'[dbo].[or''ders]')));
COMMIT TRANSACTION

-- range of a backfill, parameters [0 1 2 3 4 5]
SELECT TOP (500) r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], CASE WHEN r.[rowrelay_mask] IS NOT NULL THEN (SELECT m.name AS n FROM sys.columns AS m
	WHERE m.object_id = OBJECT_ID(N'[dbo].[or''ders]') AND CHANGE_TRACKING_IS_COLUMN_IN_MASK(m.column_id, r.[rowrelay_mask]) = 1 FOR JSON PATH) END, r.[rowrelay_context]
FROM (SELECT TOP (500) r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], r.[rowrelay_mask], CONVERT(varchar(258), r.[rowrelay_context], 1) AS [rowrelay_context]
FROM (
	SELECT COALESCE(t.[id], c.[id]) AS [id], COALESCE(t.[tenant], c.[tenant]) AS [tenant], t.[note], t.[version], c.[rowrelay_version], c.[rowrelay_created], t.[tenant] AS [rowrelay_present], c.[rowrelay_changed] AS [rowrelay_changed], c.[rowrelay_mask], c.[rowrelay_context]
	FROM (SELECT n.[tenant], n.[id], n.SYS_CHANGE_VERSION AS [rowrelay_version], COALESCE(n.SYS_CHANGE_CREATION_VERSION, 0) AS [rowrelay_created], CASE n.SYS_CHANGE_OPERATION WHEN 'D' THEN 1 ELSE 0 END AS [rowrelay_gone],
		CASE WHEN n.SYS_CHANGE_OPERATION <> 'U' OR n.SYS_CHANGE_COLUMNS IS NULL
			OR CHANGE_TRACKING_IS_COLUMN_IN_MASK(COLUMNPROPERTY(OBJECT_ID(N'[dbo].[or''ders]'), N'note', 'ColumnId'), n.SYS_CHANGE_COLUMNS) = 1
			OR CHANGE_TRACKING_IS_COLUMN_IN_MASK(COLUMNPROPERTY(OBJECT_ID(N'[dbo].[or''ders]'), N'version', 'ColumnId'), n.SYS_CHANGE_COLUMNS) = 1
			THEN n.SYS_CHANGE_VERSION ELSE 0 END AS [rowrelay_changed], n.SYS_CHANGE_COLUMNS AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context]
		FROM CHANGETABLE(CHANGES [dbo].[or'ders], 0) AS n) AS c LEFT JOIN [dbo].[or'ders] AS t ON t.[tenant] = c.[tenant] AND t.[id] = c.[id]
	WHERE c.[rowrelay_gone] = 1 OR t.[tenant] IS NOT NULL
) AS r
WHERE r.[rowrelay_version] >= CAST(@p1 AS bigint) AND (r.[rowrelay_version] > CAST(@p1 AS bigint) OR (r.[rowrelay_version] = CAST(@p1 AS bigint) AND (r.[tenant] > CAST(@p2 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p2 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[id] > CAST(@p3 AS bigint))))) AND r.[rowrelay_version] <= CAST(@p4 AS bigint) AND (r.[rowrelay_version] < CAST(@p4 AS bigint) OR (r.[rowrelay_version] = CAST(@p4 AS bigint) AND (r.[tenant] < CAST(@p5 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p5 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[id] <= CAST(@p6 AS bigint))))) AND (r.[rowrelay_present] IS NULL OR r.[rowrelay_created] <> 0 OR r.[rowrelay_changed] <> 0)
ORDER BY r.[rowrelay_version], r.[tenant], r.[id]
) AS r
ORDER BY r.[rowrelay_version], r.[tenant], r.[id]

-- keys, parameters [65536 65537 65538 65539]
SELECT r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], CASE WHEN r.[rowrelay_mask] IS NOT NULL THEN (SELECT m.name AS n FROM sys.columns AS m
	WHERE m.object_id = OBJECT_ID(N'[dbo].[or''ders]') AND CHANGE_TRACKING_IS_COLUMN_IN_MASK(m.column_id, r.[rowrelay_mask]) = 1 FOR JSON PATH) END, CONVERT(varchar(258), r.[rowrelay_context], 1)
FROM (
	SELECT COALESCE(t.[id], c.[id]) AS [id], COALESCE(t.[tenant], c.[tenant]) AS [tenant], t.[note], t.[version], c.[rowrelay_version], c.[rowrelay_created], t.[tenant] AS [rowrelay_present], c.[rowrelay_changed] AS [rowrelay_changed], c.[rowrelay_mask], c.[rowrelay_context]
	FROM (SELECT k.[tenant], k.[id], COALESCE(n.SYS_CHANGE_VERSION, 0) AS [rowrelay_version], CAST(0 AS bigint) AS [rowrelay_created], 1 AS [rowrelay_gone], CAST(0 AS bigint) AS [rowrelay_changed], CAST(NULL AS varbinary(4100)) AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context]
		FROM (VALUES (CAST(@p1 COLLATE Latin1_General_CI_AS AS varchar(20)), CAST(@p2 AS bigint)), (CAST(@p3 COLLATE Latin1_General_CI_AS AS varchar(20)), CAST(@p4 AS bigint))) AS k ([tenant], [id])
		OUTER APPLY CHANGETABLE(VERSION [dbo].[or'ders], ([tenant], [id]), (k.[tenant], k.[id])) AS n) AS c LEFT JOIN [dbo].[or'ders] AS t ON t.[tenant] = c.[tenant] AND t.[id] = c.[id]
	WHERE c.[rowrelay_gone] = 1 OR t.[tenant] IS NOT NULL
) AS r

-- chunk, parameters [65536 65537 65538 0 1 2 3]
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
DECLARE @head bigint = CHANGE_TRACKING_CURRENT_VERSION();
IF @since < CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]'))
	SET @since = CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]'));
IF @head > @read
SELECT TOP (500) r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], CASE WHEN r.[rowrelay_mask] IS NOT NULL THEN (SELECT m.name AS n FROM sys.columns AS m
	WHERE m.object_id = OBJECT_ID(N'[dbo].[or''ders]') AND CHANGE_TRACKING_IS_COLUMN_IN_MASK(m.column_id, r.[rowrelay_mask]) = 1 FOR JSON PATH) END, CONVERT(varchar(258), r.[rowrelay_context], 1)
FROM (
SELECT * FROM (SELECT TOP (500) r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], r.[rowrelay_mask], r.[rowrelay_context]
FROM (
	SELECT t.[id], t.[tenant], t.[note], t.[version], COALESCE(c.[rowrelay_version], CAST(0 AS bigint)) AS [rowrelay_version], CAST(0 AS bigint) AS [rowrelay_created], t.[tenant] AS [rowrelay_present], CAST(0 AS bigint) AS [rowrelay_changed], c.[rowrelay_mask], c.[rowrelay_context]
	FROM [dbo].[or'ders] AS t OUTER APPLY (
		SELECT n.SYS_CHANGE_VERSION AS [rowrelay_version], CAST(NULL AS varbinary(4100)) AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context] FROM CHANGETABLE(VERSION [dbo].[or'ders], ([tenant], [id]), (t.[tenant], t.[id])) AS n
	) AS c
) AS r
WHERE r.[tenant] = CAST(@p4 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[id] > CAST(@p5 AS bigint) AND r.[tenant] < CAST(@p6 COLLATE Latin1_General_CI_AS AS varchar(20)) AND 1 = 1
ORDER BY r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], r.[rowrelay_mask], r.[rowrelay_context]
FROM (
	SELECT t.[id], t.[tenant], t.[note], t.[version], COALESCE(c.[rowrelay_version], CAST(0 AS bigint)) AS [rowrelay_version], CAST(0 AS bigint) AS [rowrelay_created], t.[tenant] AS [rowrelay_present], CAST(0 AS bigint) AS [rowrelay_changed], c.[rowrelay_mask], c.[rowrelay_context]
	FROM [dbo].[or'ders] AS t OUTER APPLY (
		SELECT n.SYS_CHANGE_VERSION AS [rowrelay_version], CAST(NULL AS varbinary(4100)) AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context] FROM CHANGETABLE(VERSION [dbo].[or'ders], ([tenant], [id]), (t.[tenant], t.[id])) AS n
	) AS c
) AS r
WHERE r.[tenant] > CAST(@p4 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[tenant] < CAST(@p6 COLLATE Latin1_General_CI_AS AS varchar(20)) AND 1 = 1
ORDER BY r.[tenant], r.[id]) AS s
UNION ALL
SELECT * FROM (SELECT TOP (500) r.[id], r.[tenant], r.[note], r.[version], r.[rowrelay_version], r.[rowrelay_created], r.[rowrelay_present], r.[rowrelay_changed], r.[rowrelay_mask], r.[rowrelay_context]
FROM (
	SELECT t.[id], t.[tenant], t.[note], t.[version], COALESCE(c.[rowrelay_version], CAST(0 AS bigint)) AS [rowrelay_version], CAST(0 AS bigint) AS [rowrelay_created], t.[tenant] AS [rowrelay_present], CAST(0 AS bigint) AS [rowrelay_changed], c.[rowrelay_mask], c.[rowrelay_context]
	FROM [dbo].[or'ders] AS t OUTER APPLY (
		SELECT n.SYS_CHANGE_VERSION AS [rowrelay_version], CAST(NULL AS varbinary(4100)) AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context] FROM CHANGETABLE(VERSION [dbo].[or'ders], ([tenant], [id]), (t.[tenant], t.[id])) AS n
	) AS c
) AS r
WHERE r.[tenant] = CAST(@p6 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[id] <= CAST(@p7 AS bigint) AND r.[tenant] >= CAST(@p4 COLLATE Latin1_General_CI_AS AS varchar(20)) AND (r.[tenant] > CAST(@p4 COLLATE Latin1_General_CI_AS AS varchar(20)) OR (r.[tenant] = CAST(@p4 COLLATE Latin1_General_CI_AS AS varchar(20)) AND r.[id] > CAST(@p5 AS bigint))) AND 1 = 1
ORDER BY r.[tenant], r.[id]) AS s
) AS r
ORDER BY r.[tenant], r.[id];
SET @told = CONCAT(@head, N'|', CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]')), N'|', (
	SELECT CONCAT(N'object ', t.object_id, N'/', t.begin_version, N'/', CONVERT(nvarchar(33), i.create_date, 126))
	FROM sys.change_tracking_tables AS t
	LEFT JOIN sys.internal_tables AS i ON i.parent_object_id = t.object_id AND i.internal_type = 209
	WHERE t.object_id = OBJECT_ID(N'[dbo].[or''ders]')));
COMMIT TRANSACTION

