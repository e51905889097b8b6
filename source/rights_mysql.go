package source

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

var errNoGrants = errors.New("the server does not show the grants of the login")

func mysqlRightsOf(ctx context.Context, db *sql.DB, table string) (r Rights, err error) {
	var parts []string
	if table != "" {
		if parts, err = splitName(table); err != nil {
			return r, err
		}
	}
	schema, name := "", ""
	if len(parts) > 0 {
		name = parts[len(parts)-1]
	}
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	rows, err := db.QueryContext(ctx, mysqlRights, schema, schema, name, schema, name)
	if err != nil {
		return r, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	for rows.Next() {
		var scope, right, grantable string
		if err := rows.Scan(&r.Login, &scope, &right, &grantable); err != nil {
			return r, err
		}
		r.mysqlGrant(scope, right, grantable == "YES")
	}
	if err := rows.Err(); err != nil {
		return r, err
	}
	if r.Login == "" {
		return r, errNoGrants // every login has USAGE at least
	}
	if r.Roles, err = mysqlRolesOf(ctx, db); err != nil {
		return r, err
	}
	public, err := mysqlPublic(ctx, db)
	if public {
		r.Roles = append(r.Roles, "PUBLIC")
	}
	return r, err
}

// mysqlHarmless are the rights on the whole server that make nobody an administrator: to read, and to see what goes on. Whatever
// is not here does, those that servers yet to come invent too.
var mysqlHarmless = []string{
	"USAGE", "SELECT", "SHOW DATABASES", "SHOW VIEW", "SHOW_ROUTINE", "SHOW CREATE ROUTINE", "PROCESS", "EXECUTE", "REFERENCES", "LOCK TABLES",
	"CREATE TEMPORARY TABLES", "REPLICATION CLIENT", "BINLOG MONITOR", "SLAVE MONITOR", "REPLICA MONITOR",
}

// mysqlGrant takes one right in. Rights on the whole server reach the schema that holds the logins.
func (r *Rights) mysqlGrant(scope, right string, grantable bool) {
	on := " on " + scope
	if scope == "" {
		on = " on *.*"
	}
	rules := scope == "" || scope == "mysql"
	if rules && !slices.Contains(mysqlHarmless, right) || right == "DROP" || right == "ALTER" {
		addNew(&r.Admin, right+on)
	}
	switch right {
	case "INSERT", "UPDATE", "DELETE", "DROP", "ALTER":
		if scope != "mysql" {
			addNew(&r.Writes, right)
		}
	}
	if grantable {
		addNew(&r.Admin, "GRANT OPTION"+on)
	}
}

// addNew appends what is not there.
func addNew(list *[]string, text string) {
	if !slices.Contains(*list, text) {
		*list = append(*list, text)
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
	return roles, rows.Err()
}

// mysqlPublic says whether MariaDB grants something to everybody, which only this statement shows.
func mysqlPublic(ctx context.Context, db *sql.DB) (public bool, err error) {
	rows, err := db.QueryContext(ctx, mysqlGrants)
	if err != nil {
		return false, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	for rows.Next() {
		var grant string
		if err := rows.Scan(&grant); err != nil {
			return false, err
		}
		public = public || strings.HasSuffix(grant, " TO PUBLIC") || strings.Contains(grant, " TO PUBLIC WITH ")
	}
	return public, rows.Err()
}
