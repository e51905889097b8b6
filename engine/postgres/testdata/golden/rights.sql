SELECT current_user::text, r.rolsuper, r.rolcreatedb OR r.rolcreaterole, r.rolreplication AND NOT r.rolsuper,
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
WHERE r.rolname = current_user
