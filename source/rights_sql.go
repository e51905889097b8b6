package source

// The questions of AskRights. A login may ask all of them about itself without any right but to connect.

// postgresRights takes the table's quoted name, "" for none. Whatever a role may do counts, when the login is a member of it: without
// INHERIT it takes a SET ROLE more. A superuser is a member of every role. Of the server's own roles, whose names begin with pg_, those
// that read and watch make nobody an administrator, and that of the database's owner is told by itself; whatever is not here rules,
// those that servers yet to come invent too.
const postgresRights = `SELECT current_user::text, r.rolsuper, r.rolcreatedb OR r.rolcreaterole, r.rolreplication AND NOT r.rolsuper,
	r.rolbypassrls AND NOT r.rolsuper,
	coalesce(pg_catalog.pg_has_role(r.oid, t.relowner, 'MEMBER'), false) AND NOT r.rolsuper,
	coalesce(pg_catalog.pg_has_role(r.oid, n.nspowner, 'MEMBER'), false) AND NOT r.rolsuper,
	pg_catalog.pg_has_role(r.oid, d.datdba, 'MEMBER') AND NOT r.rolsuper,
	m.ruling, concat_ws(' ', CASE WHEN m.inserts THEN 'INSERT' END, CASE WHEN m.updates THEN 'UPDATE' END,
		CASE WHEN m.deletes THEN 'DELETE' END, CASE WHEN m.truncates THEN 'TRUNCATE' END),
	current_setting('synchronous_standby_names'), current_setting('synchronous_commit'),
	current_setting('autovacuum')::bool, coalesce(array_to_string(t.reloptions, ', '), '')
FROM pg_catalog.pg_roles r
JOIN pg_catalog.pg_database d ON d.datname = current_database()
LEFT JOIN pg_catalog.pg_class t ON t.oid = to_regclass(nullif($1, ''))
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
CROSS JOIN LATERAL (SELECT bool_or(pg_catalog.has_any_column_privilege(g.oid, t.oid, 'INSERT')) AS inserts,
		bool_or(pg_catalog.has_any_column_privilege(g.oid, t.oid, 'UPDATE')) AS updates,
		bool_or(pg_catalog.has_table_privilege(g.oid, t.oid, 'DELETE')) AS deletes,
		bool_or(pg_catalog.has_table_privilege(g.oid, t.oid, 'TRUNCATE')) AS truncates,
		string_agg(quote_ident(g.rolname), ', ' ORDER BY g.rolname) FILTER (WHERE g.oid <> r.oid AND NOT r.rolsuper AND (
			g.rolsuper OR g.rolcreaterole OR g.rolcreatedb OR g.rolreplication OR g.rolbypassrls
			OR g.rolname IN ('azure_pg_admin', 'rds_superuser', 'cloudsqlsuperuser') OR left(g.rolname, 3) = 'pg_' AND g.rolname NOT IN (
				'pg_monitor', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables', 'pg_read_all_data', 'pg_database_owner')
		)) AS ruling
	FROM pg_catalog.pg_roles g WHERE pg_catalog.pg_has_role(r.oid, g.oid, 'MEMBER')) m
WHERE r.rolname = current_user`

// sqlServerRights asks of the login and of the database, whose number in sys.databases is not DB_ID()'s on Azure SQL Database.
const sqlServerRights = `SELECT COALESCE(SUSER_SNAME(), USER_NAME()), CAST(SERVERPROPERTY(N'EngineEdition') AS int), d.is_read_committed_snapshot_on
FROM sys.databases AS d WHERE d.name = DB_NAME()`

// sqlServerRoles and sqlServerServerRoles are the fixed roles that the login has; one that it may not look into is NULL, and counts as
// none. Roles of the operator's own, and those that servers yet to come invent, show in the permissions.
const (
	sqlServerRoles = `SELECT r.name FROM (VALUES (N'db_owner'), (N'db_securityadmin'), (N'db_accessadmin'), (N'db_ddladmin'),
	(N'db_backupoperator')) AS r (name) WHERE IS_ROLEMEMBER(r.name) = 1 ORDER BY r.name`
	sqlServerServerRoles = `SELECT r.name FROM (VALUES (N'sysadmin'), (N'securityadmin'), (N'serveradmin'), (N'setupadmin'),
	(N'processadmin'), (N'diskadmin'), (N'dbcreator'), (N'bulkadmin')) AS r (name) WHERE IS_SRVROLEMEMBER(r.name) = 1 ORDER BY r.name`
)

// sqlServerDatabaseRights and sqlServerServerRights are all that the login may do with the database and the server, however it came
// by it; NULL is the current one. Azure SQL Database has no rights on a server of its own, and is not asked for them.
const (
	sqlServerDatabaseRights = `SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(NULL, N'DATABASE') AS p ORDER BY p.permission_name`
	sqlServerServerRights   = `SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(NULL, N'SERVER') AS p ORDER BY p.permission_name`
)

// sqlServerTableRights takes the table's quoted name. A right on a column has a row too, which HAS_PERMS_BY_NAME passes over.
const sqlServerTableRights = `SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(@table, N'OBJECT') AS p ORDER BY p.permission_name`

// mysqlRights takes the table's schema ("" for the connection's own), and for tables and their columns its schema and name. A login
// that may read the grants of others sees them too: the grantee is us. Schemas of grants are patterns.
const mysqlRights = `SELECT CURRENT_USER(), '', p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.USER_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() UNION ALL
SELECT CURRENT_USER(), 'mysql', p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.SCHEMA_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND 'mysql' LIKE p.TABLE_SCHEMA UNION ALL
SELECT CURRENT_USER(), p.TABLE_SCHEMA, p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.SCHEMA_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND COALESCE(NULLIF(?, ''), DATABASE()) LIKE p.TABLE_SCHEMA UNION ALL
SELECT CURRENT_USER(), 'mysql', p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.TABLE_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND p.TABLE_SCHEMA = 'mysql' UNION ALL
SELECT CURRENT_USER(), p.TABLE_SCHEMA, p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.TABLE_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND p.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND p.TABLE_NAME = ? UNION ALL
SELECT CURRENT_USER(), p.TABLE_SCHEMA, p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.COLUMN_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND p.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND p.TABLE_NAME = ?`

const mysqlRoles = `SELECT DISTINCT ROLE_NAME FROM information_schema.APPLICABLE_ROLES`

const mysqlGrants = `SHOW GRANTS`
