package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

var (
	errNoDatabaseRow = errors.New("sys.databases does not show this database to the login: let the login see it")
	errNoControl     = errors.New("the server does not say whether the login has CONTROL on the database")
)

// sqlServerWrites are the effective permissions with which a table is changed, or the right to change it is taken.
var sqlServerWrites = []string{"INSERT", "UPDATE", "DELETE", "ALTER", "CONTROL", "TAKE OWNERSHIP"}

func sqlServerRightsOf(ctx context.Context, db *sql.DB, table string) (r Rights, err error) {
	var edition sql.NullInt64
	var owner, security, ddl, access, roles, users bool
	var control sql.NullBool
	err = db.QueryRowContext(ctx, sqlServerRights).Scan(&r.Login, &edition, &owner, &security, &ddl, &access, &control, &roles, &users, &r.RowVersions)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r, errNoDatabaseRow
	case err != nil:
		return r, err
	case !control.Valid:
		return r, errNoControl
	}
	if edition.Int64 != editionAzureSQL {
		var sysadmin, securityadmin, rules, logins bool
		if err := db.QueryRowContext(ctx, sqlServerServerRights).Scan(&sysadmin, &securityadmin, &rules, &logins); err != nil {
			return r, err
		}
		r.Admin = named(sysadmin, "sysadmin", securityadmin, "securityadmin", rules && !sysadmin, "CONTROL SERVER",
			logins && !rules && !securityadmin, "ALTER ANY LOGIN")
	}
	r.Admin = append(r.Admin, named(owner, "db_owner", security, "db_securityadmin", ddl, "db_ddladmin", access, "db_accessadmin",
		control.Bool && !owner, "CONTROL on the database", roles && !control.Bool && !security, "ALTER ANY ROLE",
		users && !control.Bool && !access, "ALTER ANY USER")...)
	if table != "" {
		r.Writes, err = sqlServerWritesOf(ctx, db, table)
	}
	return r, err
}

// sqlServerWritesOf returns the rights to change a table or some of its columns. Whoever reads a table has a permission on it:
// none at all means that the name was not understood, and not that the login may only read.
func sqlServerWritesOf(ctx context.Context, db *sql.DB, table string) (writes []string, err error) {
	rows, err := db.QueryContext(ctx, sqlServerTableRights, sql.Named("table", table))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	seen := false
	for rows.Next() {
		var permission string
		if err := rows.Scan(&permission); err != nil {
			return nil, err
		}
		seen = true
		if slices.Contains(sqlServerWrites, permission) {
			writes = append(writes, permission)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !seen {
		return nil, fmt.Errorf("the server shows no permission on %s: look at source__table, and grant SELECT", table)
	}
	return writes, nil
}
