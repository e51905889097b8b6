package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// Rights is what a server says of our login, and of what its database is set to: for `rowrelay check --production`.
type Rights struct {
	// Told is false where there is nothing to ask: SQLite is a file.
	Told bool
	// Login is who we are to the server.
	Login string
	// Admin says why the login is more than a reader of tables: superuser, sysadmin, db_owner, owner of the table …
	Admin []string
	// Writes are the rights to change the table, as the engine calls them.
	Writes []string
	// Roles are those of MySQL and MariaDB whose rights are not among Admin and Writes.
	Roles []string
	// RowVersions is SQL Server's READ_COMMITTED_SNAPSHOT.
	RowVersions bool
	// Standbys is PostgreSQL's synchronous_standby_names.
	Standbys string
	// Autovacuum is false where PostgreSQL does not clean the table by itself; Vacuums are the table's own settings for it.
	Autovacuum bool
	Vacuums    string
}

// AskRights asks a server what the login may do with a table, which is named as source__table; "" asks nothing of a table.
// It changes nothing.
func AskRights(ctx context.Context, conn Connection, table string, timeout time.Duration) (Rights, error) {
	if conn.Engine == engineSQLite {
		return Rights{}, nil
	}
	d, err := dialectFor(conn.Engine)
	if err != nil {
		return Rights{}, err
	}
	var quoted string
	if table != "" {
		parts, err := splitName(table)
		if err != nil {
			return Rights{}, fmt.Errorf("%w: source__table: %w", poller.ErrConfig, err)
		}
		for i := range parts {
			parts[i] = d.quote(parts[i])
		}
		quoted = strings.Join(parts, ".")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	db := conn.DB(1)
	defer db.Close() //nolint:errcheck // nothing was written
	var r Rights
	switch conn.Engine {
	case enginePostgres:
		r, err = postgresRightsOf(ctx, db, quoted)
	case engineMySQL:
		r, err = mysqlRightsOf(ctx, db, table)
	default:
		r, err = sqlServerRightsOf(ctx, db, quoted)
	}
	if err != nil {
		return Rights{}, fmt.Errorf("ask for the login's rights: %w", err)
	}
	r.Told = true
	return r, nil
}

func postgresRightsOf(ctx context.Context, db *sql.DB, table string) (r Rights, err error) {
	var super, owner, creates bool
	var all bool // the cluster's autovacuum
	var writes, options string
	err = db.QueryRowContext(ctx, postgresRights, table).Scan(&r.Login, &super, &creates, &owner, &writes, &r.Standbys, &all, &options)
	if err != nil {
		return r, err
	}
	r.Admin = named(super, "superuser", creates, "CREATEDB or CREATEROLE", owner, "the owner of the table")
	r.Writes = strings.Fields(writes)
	r.Autovacuum = all && !strings.Contains(options, "autovacuum_enabled=false") && !strings.Contains(options, "autovacuum_enabled=off")
	r.Vacuums = options
	return r, nil
}

func sqlServerRightsOf(ctx context.Context, db *sql.DB, table string) (r Rights, err error) {
	var sysadmin, owner, ddl bool
	var writes string
	err = db.QueryRowContext(ctx, sqlServerRights, sql.Named("table", table)).Scan(&r.Login, &sysadmin, &owner, &ddl, &writes, &r.RowVersions)
	r.Admin = named(sysadmin, "sysadmin", owner, "db_owner", ddl, "db_ddladmin")
	r.Writes = strings.Fields(writes)
	return r, err
}

func mysqlRightsOf(ctx context.Context, db *sql.DB, table string) (r Rights, err error) {
	parts, err := splitName(table)
	if table == "" {
		parts, err = nil, nil
	}
	if err != nil {
		return r, err
	}
	schema, name := "", ""
	if len(parts) > 0 {
		name = parts[len(parts)-1]
	}
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	rows, err := db.QueryContext(ctx, mysqlRights, schema, schema, name)
	if err != nil {
		return r, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	for rows.Next() {
		var scope, right string
		if err := rows.Scan(&r.Login, &scope, &right); err != nil {
			return r, err
		}
		r.mysqlGrant(scope, right)
	}
	if err := rows.Err(); err != nil {
		return r, err
	}
	r.Roles, err = mysqlRolesOf(ctx, db)
	return r, err
}

// mysqlGrant takes one right in: those of the whole server that are no table's make an administrator.
func (r *Rights) mysqlGrant(scope, right string) {
	switch right {
	case "INSERT", "UPDATE", "DELETE":
		if !slices.Contains(r.Writes, right) {
			r.Writes = append(r.Writes, right)
		}
	case "SUPER", "GRANT OPTION", "CREATE USER", "SYSTEM_USER", "DROP", "ALTER", "FILE":
		if scope == "" || right == "DROP" || right == "ALTER" {
			r.Admin = append(r.Admin, right+map[bool]string{true: " on *.*", false: " on " + scope}[scope == ""])
		}
	}
}

// mysqlRolesOf returns the roles that the login has. Servers without roles do not know the view.
func mysqlRolesOf(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, mysqlRoles)
	if err != nil {
		if kind := (mySQL{}).classify(err); kind == faultSchema || kind == faultDenied {
			return nil, nil
		}
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	var roles []string
	for rows.Next() {
		var role string
		if err := rows.Scan(&role); err != nil {
			return nil, err
		}
		roles = append(roles, role)
	}
	return roles, errors.Join(rows.Err())
}

// named returns the names whose flags are set: flag, name, flag, name.
func named(pairs ...any) (names []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if on, ok := pairs[i].(bool); ok && on {
			names = append(names, pairs[i+1].(string)) //nolint:forcetypeassert // the callers are above
		}
	}
	return names
}
