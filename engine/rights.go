package engine

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Rights is what a server says of our login, and of what its database is set to: for `rowrelay check --production`.
type Rights struct {
	// Told is false where there is nothing to ask: SQLite is a file.
	Told bool
	// Login is who we are to the server.
	Login string
	// Admin says why the login is more than a reader of tables: superuser, a member of a role that rules, sysadmin,
	// db_owner, the owner of the table …
	Admin []string
	// Writes are the rights to change the table, or a column of it, as the engine calls them.
	Writes []string
	// Roles are those of MySQL and MariaDB whose rights are not among Admin and Writes.
	Roles []string
	// RowVersions is SQL Server's READ_COMMITTED_SNAPSHOT.
	RowVersions bool
	// Standbys is PostgreSQL's synchronous_standby_names, and Commits the synchronous_commit of our session: another may
	// set its own.
	Standbys, Commits string
	// Autovacuum is false where PostgreSQL does not clean the table by itself; Vacuums are the table's own settings, as
	// they were written.
	Autovacuum bool
	Vacuums    string
}

// VacuumNumber returns a number of the table's own settings for autovacuum, autovacuum_vacuum_… without that beginning.
// It is not ok where the table does not set it, or sets what is no number.
func (r *Rights) VacuumNumber(name string) (n float64, ok bool) {
	text, _ := r.Vacuum("vacuum_" + name)
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil
}

// Vacuum returns what the table says of autovacuum_name: PostgreSQL keeps the text as it was written.
func (r *Rights) Vacuum(name string) (text string, set bool) {
	for option := range strings.SplitSeq(r.Vacuums, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(option), "=")
		if key == "autovacuum_"+name {
			return value, true
		}
	}
	return "", false
}

// rightsAsker is a dialect whose server can be asked for rights. parts name the table, none for no table.
type rightsAsker interface {
	Rights(ctx context.Context, db *sql.DB, parts []string) (Rights, error)
}

// AskRights asks a server what the login may do with a table, which is named as source__table; "" asks nothing of a
// table. It changes nothing.
func AskRights(ctx context.Context, conn Connection, table string, timeout time.Duration) (Rights, error) {
	d, asked := conn.Dialect.(rightsAsker)
	if !asked {
		return Rights{}, nil
	}
	var parts []string
	if table != "" {
		var err error
		if parts, err = SplitName(table); err != nil {
			return Rights{}, fmt.Errorf("%w: source__table: %w", change.ErrConfig, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	db := conn.DB(1)
	defer db.Close() //nolint:errcheck // nothing was written
	r, err := d.Rights(ctx, db, parts)
	if err != nil {
		return Rights{}, fmt.Errorf("ask for the login's rights: %w", err)
	}
	r.Told = true
	return r, nil
}
