package source

// The questions of AskRights, one statement each. A login may ask all of them about itself without any right but to connect.

// postgresRights takes the table's quoted name, "" for none. Rights through roles count, and those on single columns.
const postgresRights = `SELECT current_user::text, r.rolsuper, r.rolcreatedb OR r.rolcreaterole,
	coalesce(pg_catalog.pg_has_role(t.relowner, 'USAGE'), false) AND NOT r.rolsuper,
	concat_ws(' ', CASE WHEN pg_catalog.has_any_column_privilege(t.oid, 'INSERT') THEN 'INSERT' END,
		CASE WHEN pg_catalog.has_any_column_privilege(t.oid, 'UPDATE') THEN 'UPDATE' END,
		CASE WHEN pg_catalog.has_table_privilege(t.oid, 'DELETE') THEN 'DELETE' END,
		CASE WHEN pg_catalog.has_table_privilege(t.oid, 'TRUNCATE') THEN 'TRUNCATE' END),
	current_setting('synchronous_standby_names'), current_setting('autovacuum')::bool, coalesce(array_to_string(t.reloptions, ', '), '')
FROM pg_catalog.pg_roles r LEFT JOIN pg_catalog.pg_class t ON t.oid = to_regclass(nullif($1, ''))
WHERE r.rolname = current_user`

// sqlServerRights takes the table's quoted name. HAS_PERMS_BY_NAME is NULL for a name that is not there.
const sqlServerRights = `SELECT SUSER_SNAME(), CAST(COALESCE(IS_SRVROLEMEMBER(N'sysadmin'), 0) AS bit),
	CAST(COALESCE(IS_MEMBER(N'db_owner'), 0) AS bit), CAST(COALESCE(IS_MEMBER(N'db_ddladmin'), 0) AS bit),
	CONCAT(CASE WHEN HAS_PERMS_BY_NAME(@table, N'OBJECT', N'INSERT') = 1 THEN N'INSERT ' END,
		CASE WHEN HAS_PERMS_BY_NAME(@table, N'OBJECT', N'UPDATE') = 1 THEN N'UPDATE ' END,
		CASE WHEN HAS_PERMS_BY_NAME(@table, N'OBJECT', N'DELETE') = 1 THEN N'DELETE ' END,
		CASE WHEN HAS_PERMS_BY_NAME(@table, N'OBJECT', N'ALTER') = 1 THEN N'ALTER ' END),
	d.is_read_committed_snapshot_on
FROM sys.databases AS d WHERE d.database_id = DB_ID()`

// mysqlRights takes the table's schema twice ("" for the connection's own) and its name. A login that may read the grants
// of others sees them too: the grantee is us. Schemas of grants are patterns.
const mysqlRights = `SELECT CURRENT_USER(), '', p.PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() UNION ALL
SELECT CURRENT_USER(), p.TABLE_SCHEMA, p.PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND COALESCE(NULLIF(?, ''), DATABASE()) LIKE p.TABLE_SCHEMA UNION ALL
SELECT CURRENT_USER(), p.TABLE_SCHEMA, p.PRIVILEGE_TYPE FROM information_schema.TABLE_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND p.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND p.TABLE_NAME = ?`

const mysqlRoles = `SELECT DISTINCT ROLE_NAME FROM information_schema.APPLICABLE_ROLES`
