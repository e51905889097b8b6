package source

import (
	"context"
	"fmt"
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
	// Admin says why the login is more than a reader of tables: superuser, a member of a role that rules, sysadmin, db_owner,
	// the owner of the table …
	Admin []string
	// Writes are the rights to change the table, or a column of it, as the engine calls them.
	Writes []string
	// Roles are those of MySQL and MariaDB whose rights are not among Admin and Writes.
	Roles []string
	// RowVersions is SQL Server's READ_COMMITTED_SNAPSHOT.
	RowVersions bool
	// Standbys is PostgreSQL's synchronous_standby_names, and Commits the synchronous_commit of our session: another may set its own.
	Standbys, Commits string
	// Autovacuum is false where PostgreSQL does not clean the table by itself; Vacuums are the table's own settings, as they were
	// written.
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

// named returns the names whose flags are set: flag, name, flag, name.
func named(pairs ...any) (names []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if on, ok := pairs[i].(bool); ok && on {
			names = append(names, pairs[i+1].(string)) //nolint:forcetypeassert // the callers are in this package
		}
	}
	return names
}
