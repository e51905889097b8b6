SELECT current_user::text, r.rolsuper, r.rolcreatedb OR r.rolcreaterole,
	coalesce(pg_catalog.pg_has_role(t.relowner, 'USAGE'), false) AND NOT r.rolsuper,
	concat_ws(' ', CASE WHEN pg_catalog.has_any_column_privilege(t.oid, 'INSERT') THEN 'INSERT' END,
		CASE WHEN pg_catalog.has_any_column_privilege(t.oid, 'UPDATE') THEN 'UPDATE' END,
		CASE WHEN pg_catalog.has_table_privilege(t.oid, 'DELETE') THEN 'DELETE' END,
		CASE WHEN pg_catalog.has_table_privilege(t.oid, 'TRUNCATE') THEN 'TRUNCATE' END),
	current_setting('synchronous_standby_names'), current_setting('autovacuum')::bool, coalesce(array_to_string(t.reloptions, ', '), '')
FROM pg_catalog.pg_roles r LEFT JOIN pg_catalog.pg_class t ON t.oid = to_regclass(nullif($1, ''))
WHERE r.rolname = current_user
