IF CHANGE_TRACKING_CURRENT_VERSION() IS NULL
	ALTER DATABASE CURRENT SET CHANGE_TRACKING = ON (CHANGE_RETENTION = 7 DAYS, AUTO_CLEANUP = ON);
IF NOT EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = DB_NAME() AND d.snapshot_isolation_state = 1)
	ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON;
IF NOT EXISTS (SELECT 1 FROM sys.change_tracking_tables AS t WHERE t.object_id = OBJECT_ID(N'[shop].[or''ders]'))
	ALTER TABLE [shop].[or'ders] ENABLE CHANGE_TRACKING;

-- uninstall
IF EXISTS (SELECT 1 FROM sys.change_tracking_tables AS t WHERE t.object_id = OBJECT_ID(N'[shop].[or''ders]'))
	ALTER TABLE [shop].[or'ders] DISABLE CHANGE_TRACKING;

-- rows
(
	SELECT COALESCE(t.[tenant], c.[tenant]) AS [tenant], COALESCE(t.[id], c.[id]) AS [id], t.[note], c.[rowrelay_version], c.[rowrelay_created], t.[tenant] AS [rowrelay_present], c.[rowrelay_mask], c.[rowrelay_context]
	FROM (SELECT n.[tenant], n.[id], n.SYS_CHANGE_VERSION AS [rowrelay_version], COALESCE(n.SYS_CHANGE_CREATION_VERSION, 0) AS [rowrelay_created], CASE n.SYS_CHANGE_OPERATION WHEN 'D' THEN 1 ELSE 0 END AS [rowrelay_gone], n.SYS_CHANGE_COLUMNS AS [rowrelay_mask], n.SYS_CHANGE_CONTEXT AS [rowrelay_context]
		FROM CHANGETABLE(CHANGES [shop].[or'ders], 0) AS n) AS c LEFT JOIN [shop].[or'ders] AS t ON t.[tenant] = c.[tenant] AND t.[id] = c.[id]
	WHERE c.[rowrelay_gone] = 1 OR t.[tenant] IS NOT NULL
)
