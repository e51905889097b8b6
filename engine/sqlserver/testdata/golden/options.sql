SELECT is_read_committed_snapshot_on, CAST(compatibility_level AS int) FROM sys.databases WHERE name = DB_NAME()
SELECT COUNT(*) FROM OPENJSON(N'[]') AS j
