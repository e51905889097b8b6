SELECT CAST(CASE WHEN CHANGE_TRACKING_CURRENT_VERSION() IS NULL THEN 0 ELSE 1 END AS bit),
	CAST(CASE WHEN EXISTS (SELECT 1 FROM sys.change_tracking_tables AS t WHERE t.object_id = OBJECT_ID(@p1))
		THEN 1 ELSE 0 END AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(@p1, N'OBJECT', N'VIEW CHANGE TRACKING'), 1) AS bit),
	CAST(CASE WHEN EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = DB_NAME() AND d.snapshot_isolation_state = 1)
		THEN 1 ELSE 0 END AS bit),
	COALESCE(USER_NAME(), N'')

SELECT CONCAT(c.retention_period, N' ', LOWER(c.retention_period_units_desc),
	CASE WHEN c.is_auto_cleanup_on = 0 THEN N', but AUTO_CLEANUP is off' END)
FROM sys.change_tracking_databases AS c
WHERE c.database_id IN (DB_ID(), (SELECT d.database_id FROM sys.databases AS d WHERE d.name = DB_NAME()))
