package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
)

// A login may ask all of this about itself without any right but to connect.

// rightsSQL asks of the login and of the database, whose number in sys.databases is not DB_ID()'s on Azure SQL
// Database.
const rightsSQL = `SELECT COALESCE(SUSER_SNAME(), USER_NAME()), CAST(SERVERPROPERTY(N'EngineEdition') AS int), d.is_read_committed_snapshot_on
FROM sys.databases AS d WHERE d.name = DB_NAME()`

// rolesSQL and serverRolesSQL are the fixed roles that the login has; one that it may not look into is NULL, and counts
// as none. Roles of the operator's own, and those that servers yet to come invent, show in the permissions.
const (
	rolesSQL = `SELECT r.name FROM (VALUES (N'db_owner'), (N'db_securityadmin'), (N'db_accessadmin'), (N'db_ddladmin'),
	(N'db_backupoperator')) AS r (name) WHERE IS_ROLEMEMBER(r.name) = 1 ORDER BY r.name`
	serverRolesSQL = `SELECT r.name FROM (VALUES (N'sysadmin'), (N'securityadmin'), (N'serveradmin'), (N'setupadmin'),
	(N'processadmin'), (N'diskadmin'), (N'dbcreator'), (N'bulkadmin')) AS r (name) ` +
		`WHERE IS_SRVROLEMEMBER(r.name) = 1 ORDER BY r.name`
)

// databaseRightsSQL and serverRightsSQL are all that the login may do with the database and the server, however it came
// by it; NULL is the current one. Azure SQL Database has no rights on a server of its own, and is not asked for them.
const (
	databaseRightsSQL = `SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(NULL, N'DATABASE') AS p ORDER BY p.permission_name`
	serverRightsSQL   = `SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(NULL, N'SERVER') AS p ORDER BY p.permission_name`
)

// tableRightsSQL takes the table's quoted name. A right on a column has a row too, which HAS_PERMS_BY_NAME passes over.
const tableRightsSQL = `SELECT DISTINCT p.permission_name FROM sys.fn_my_permissions(@table, N'OBJECT') AS p ORDER BY p.permission_name`

var (
	errNoDatabaseRow   = errors.New("sys.databases does not show this database to the login: let the login see it")
	errNoDatabaseRight = errors.New("the server does not say what the login may do with the database")
)

// writeRights are the effective permissions with which a table is changed, or the right to change it is taken.
var writeRights = []string{"INSERT", "UPDATE", "DELETE", "ALTER", "CONTROL", "TAKE OWNERSHIP"}

// harmless reports whether a permission on a whole database or server makes nobody an administrator: to connect, to
// read, and to see what goes on. Whatever is not here does, as with MySQL. The definitions that are secured by
// cryptography are the hashes of passwords.
func harmless(permission string) bool {
	switch permission {
	case "CONNECT", "CONNECT SQL", "CONNECT ANY DATABASE", "SELECT", "SELECT ALL USER SECURABLES", "EXECUTE", "REFERENCES",
		"SHOWPLAN", "UNMASK":
		return true
	}
	return strings.HasPrefix(permission, "VIEW ") && !strings.Contains(permission, "CRYPTOGRAPHICALLY SECURED")
}

// Rights asks what the login may do.
func (Dialect) Rights(ctx context.Context, db *sql.DB, parts []string) (r engine.Rights, err error) {
	var edition sql.NullInt64
	err = db.QueryRowContext(ctx, rightsSQL).Scan(&r.Login, &edition, &r.RowVersions)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r, errNoDatabaseRow
	case err != nil:
		return r, err
	}
	if edition.Int64 != editionAzureSQL {
		// None at all is a user of the database only, without a login.
		if _, err := takeAdmin(ctx, db, &r, "the server", serverRolesSQL, serverRightsSQL); err != nil {
			return r, err
		}
	}
	told, err := takeAdmin(ctx, db, &r, "the database", rolesSQL, databaseRightsSQL)
	switch {
	case err != nil:
		return r, err
	case !told: // whoever asks has CONNECT
		return r, errNoDatabaseRight
	}
	if len(parts) > 0 {
		r.Writes, err = writesOf(ctx, db, engine.QuotedName(parts, tsql.Quote))
	}
	return r, err
}

// takeAdmin takes in what makes the login an administrator of the server or the database, and says whether it has any
// right there. Whoever owns it has every right: these are not told one by one.
func takeAdmin(ctx context.Context, db *sql.DB, r *engine.Rights, of, roles, permissions string) (told bool,
	err error) {
	has, err := engine.Texts(ctx, db, roles)
	if err != nil {
		return false, err
	}
	r.Admin = append(r.Admin, has...)
	may, err := engine.Texts(ctx, db, permissions)
	if err != nil {
		return false, err
	}
	switch {
	case slices.Contains(has, "sysadmin") || slices.Contains(has, "db_owner"):
	case slices.Contains(may, "CONTROL SERVER"):
		r.Admin = append(r.Admin, "CONTROL SERVER")
	case slices.Contains(may, "CONTROL"):
		r.Admin = append(r.Admin, "CONTROL on "+of)
	default:
		for _, permission := range may {
			if !harmless(permission) {
				r.Admin = append(r.Admin, permission+" on "+of)
			}
		}
	}
	return len(may) > 0, nil
}

// writesOf returns the rights to change a table or some of its columns. Whoever reads a table has a permission on it:
// none at all means that the name was not understood, and not that the login may only read.
func writesOf(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	may, err := engine.Texts(ctx, db, tableRightsSQL, sql.Named("table", table))
	if err != nil {
		return nil, err
	}
	if len(may) == 0 {
		return nil, fmt.Errorf("the server shows no permission on %s: look at source__table, and grant SELECT", table)
	}
	return slices.DeleteFunc(may, func(permission string) bool { return !slices.Contains(writeRights, permission) }), nil
}
