SELECT d.is_read_committed_snapshot_on, CAST(CASE WHEN d.snapshot_isolation_state = 1 THEN 1 ELSE 0 END AS bit)
FROM sys.databases AS d
WHERE d.name = DB_NAME()
