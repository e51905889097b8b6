package mysql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// A login may ask all of this about itself without any right but to connect.

// rightsSQL takes the table's schema ("" for the connection's own), and for tables and their columns its schema and
// name. A login that may read the grants of others sees them too: the grantee is us. Schemas of grants are patterns.
const rightsSQL = `SELECT CURRENT_USER(), '', p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.USER_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() UNION ALL
SELECT CURRENT_USER(), 'mysql', p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.SCHEMA_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND 'mysql' LIKE p.TABLE_SCHEMA UNION ALL
SELECT CURRENT_USER(), p.TABLE_SCHEMA, p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.SCHEMA_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() ` +
	`AND COALESCE(NULLIF(?, ''), DATABASE()) LIKE p.TABLE_SCHEMA UNION ALL
SELECT CURRENT_USER(), 'mysql', p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.TABLE_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() AND p.TABLE_SCHEMA = 'mysql' UNION ALL
SELECT CURRENT_USER(), p.TABLE_SCHEMA, p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.TABLE_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() ` +
	`AND p.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND p.TABLE_NAME = ? UNION ALL
SELECT CURRENT_USER(), p.TABLE_SCHEMA, p.PRIVILEGE_TYPE, p.IS_GRANTABLE FROM information_schema.COLUMN_PRIVILEGES p
WHERE REPLACE(p.GRANTEE, '''', '') = CURRENT_USER() ` +
	`AND p.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND p.TABLE_NAME = ?`

const rolesSQL = `SELECT DISTINCT ROLE_NAME FROM information_schema.APPLICABLE_ROLES`

const grantsSQL = `SHOW GRANTS`

var errNoGrants = errors.New("the server does not show the grants of the login")

// Rights asks what the login may do.
func (Dialect) Rights(ctx context.Context, db *sql.DB, parts []string) (r engine.Rights, err error) {
	schema, name := "", ""
	if len(parts) > 0 {
		name = parts[len(parts)-1]
	}
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	named := []any{schema, schema, name, schema, name}
	err = engine.EachRow(ctx, db, rightsSQL, named, func(scan func(...any) error) error {
		var scope, right, grantable string
		if err := scan(&r.Login, &scope, &right, &grantable); err != nil {
			return err
		}
		takeGrant(&r, scope, right, grantable == "YES")
		return nil
	})
	if err != nil {
		return r, err
	}
	if r.Login == "" {
		return r, errNoGrants // every login has USAGE at least
	}
	if r.Roles, err = rolesOf(ctx, db); err != nil {
		return r, err
	}
	public, err := publicGrants(ctx, db)
	if public {
		r.Roles = append(r.Roles, "PUBLIC")
	}
	return r, err
}

// harmless are the rights on the whole server that make nobody an administrator: to read, and to see what goes on.
// Whatever is not here does, those that servers yet to come invent too.
var harmless = []string{
	"USAGE", "SELECT", "SHOW DATABASES", "SHOW VIEW", "SHOW_ROUTINE", "SHOW CREATE ROUTINE", "PROCESS", "EXECUTE",
	"REFERENCES", "LOCK TABLES",
	"CREATE TEMPORARY TABLES", "REPLICATION CLIENT", "BINLOG MONITOR", "SLAVE MONITOR", "REPLICA MONITOR",
}

// takeGrant takes one right in. Rights on the whole server reach the schema that holds the logins.
func takeGrant(r *engine.Rights, scope, right string, grantable bool) {
	on := " on " + scope
	if scope == "" {
		on = " on *.*"
	}
	rules := scope == "" || scope == "mysql"
	if rules && !slices.Contains(harmless, right) || right == "DROP" || right == "ALTER" {
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

// rolesOf returns the roles that the login has. Servers without roles do not know the view.
func rolesOf(ctx context.Context, db *sql.DB) ([]string, error) {
	roles, err := engine.Texts(ctx, db, rolesSQL)
	if kind := (Dialect{}).Classify(err); err != nil && (kind == engine.FaultSchema || kind == engine.FaultDenied) {
		return nil, nil
	}
	return roles, err
}

// publicGrants says whether MariaDB grants something to everybody, which only this statement shows.
func publicGrants(ctx context.Context, db *sql.DB) (public bool, err error) {
	grants, err := engine.Texts(ctx, db, grantsSQL)
	return slices.ContainsFunc(grants, func(grant string) bool {
		return strings.HasSuffix(grant, " TO PUBLIC") || strings.Contains(grant, " TO PUBLIC WITH ")
	}), err
}
