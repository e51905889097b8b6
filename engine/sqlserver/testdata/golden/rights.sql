SELECT COALESCE(SUSER_SNAME(), USER_NAME()), CAST(SERVERPROPERTY(N'EngineEdition') AS int), d.is_read_committed_snapshot_on
FROM sys.databases AS d WHERE d.name = DB_NAME()

SELECT r.name FROM (VALUES (N'db_owner'), (N'db_securityadmin'), (N'db_accessadmin'), (N'db_ddladmin'),
	(N'db_backupoperator')) AS r (name) WHERE IS_ROLEMEMBER(r.name) = 1 ORDER BY r.name

SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(NULL, N'DATABASE') AS p ORDER BY p.permission_name

SELECT r.name FROM (VALUES (N'sysadmin'), (N'securityadmin'), (N'serveradmin'), (N'setupadmin'),
	(N'processadmin'), (N'diskadmin'), (N'dbcreator'), (N'bulkadmin')) AS r (name) WHERE IS_SRVROLEMEMBER(r.name) = 1 ORDER BY r.name

SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(NULL, N'SERVER') AS p ORDER BY p.permission_name

SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(@table, N'OBJECT') AS p ORDER BY p.permission_name
