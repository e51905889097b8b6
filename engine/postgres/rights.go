package postgres

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// A login may ask all of this about itself without any right but to connect.

// rightsSQL takes the table's quoted name, "" for none. Whatever a role may do counts, when the login is a member of
// it: without INHERIT it takes a SET ROLE more. A superuser is a member of every role. Of the server's own roles, whose
// names begin with pg_, those that read and watch make nobody an administrator, and that of the database's owner is
// told by itself; whatever is not here rules, those that servers yet to come invent too.
const rightsSQL = `SELECT current_user::text, r.rolsuper, r.rolcreatedb OR r.rolcreaterole, r.rolreplication AND NOT r.rolsuper,
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
			OR g.rolname IN ('azure_pg_admin', 'rds_superuser', 'cloudsqlsuperuser') ` +
	`OR left(g.rolname, 3) = 'pg_' AND g.rolname NOT IN (
				'pg_monitor', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables', ` +
	`'pg_read_all_data', 'pg_database_owner')
		)) AS ruling
	FROM pg_catalog.pg_roles g WHERE pg_catalog.pg_has_role(r.oid, g.oid, 'MEMBER')) m
WHERE r.rolname = current_user`

// Rights asks what the login may do.
func (Dialect) Rights(ctx context.Context, db *sql.DB, parts []string) (r engine.Rights, err error) {
	var super, creates, replicates, bypasses, owner, schema, database bool
	var all bool // the cluster's autovacuum
	var roles sql.NullString
	var writes, options string
	err = db.QueryRowContext(ctx, rightsSQL, engine.QuotedName(parts, quote)).Scan(&r.Login, &super, &creates, &replicates,
		&bypasses, &owner, &schema, &database,
		&roles, &writes, &r.Standbys, &r.Commits, &all, &options)
	if err != nil {
		return r, err
	}
	r.Admin = setNames(super, "superuser", creates, "CREATEDB or CREATEROLE", replicates, "REPLICATION", bypasses,
		"BYPASSRLS",
		owner, "the owner of the table", schema, "the owner of the table's schema", database, "the owner of the database",
		roles.Valid, "a member of "+roles.String)
	r.Writes = strings.Fields(writes)
	r.Vacuums = options
	r.Autovacuum = all && vacuumed(&r)
	return r, nil
}

// vacuumed says whether the table lets autovacuum clean it. What cannot be read counts as no.
func vacuumed(r *engine.Rights) bool {
	text, set := r.Vacuum("enabled")
	return !set || boolean(text)
}

// boolean reads a boolean of a table's settings as PostgreSQL does: a word or a beginning of it that tells which, or a
// digit.
func boolean(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return slices.Contains([]string{"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"}, text)
}

// setNames returns the names whose flags are set: flag, name, flag, name.
func setNames(pairs ...any) (names []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if on, ok := pairs[i].(bool); ok && on {
			names = append(names, pairs[i+1].(string)) //nolint:forcetypeassert // the callers are in this package
		}
	}
	return names
}
