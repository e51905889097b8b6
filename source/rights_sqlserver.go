package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	errNoDatabaseRow   = errors.New("sys.databases does not show this database to the login: let the login see it")
	errNoDatabaseRight = errors.New("the server does not say what the login may do with the database")
)

// sqlServerWrites are the effective permissions with which a table is changed, or the right to change it is taken.
var sqlServerWrites = []string{"INSERT", "UPDATE", "DELETE", "ALTER", "CONTROL", "TAKE OWNERSHIP"}

// sqlServerHarmless reports whether a permission on a whole database or server makes nobody an administrator: to connect, to read, and
// to see what goes on. Whatever is not here does, as with [mysqlHarmless]. The definitions that are secured by cryptography are the
// hashes of passwords.
func sqlServerHarmless(permission string) bool {
	switch permission {
	case "CONNECT", "CONNECT SQL", "CONNECT ANY DATABASE", "SELECT", "SELECT ALL USER SECURABLES", "EXECUTE", "REFERENCES", "SHOWPLAN", "UNMASK":
		return true
	}
	return strings.HasPrefix(permission, "VIEW ") && !strings.Contains(permission, "CRYPTOGRAPHICALLY SECURED")
}

func sqlServerRightsOf(ctx context.Context, db *sql.DB, table string) (r Rights, err error) {
	var edition sql.NullInt64
	err = db.QueryRowContext(ctx, sqlServerRights).Scan(&r.Login, &edition, &r.RowVersions)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r, errNoDatabaseRow
	case err != nil:
		return r, err
	}
	if edition.Int64 != editionAzureSQL {
		// None at all is a user of the database only, without a login.
		if _, err := r.sqlServerAdmin(ctx, db, "the server", sqlServerServerRoles, sqlServerServerRights); err != nil {
			return r, err
		}
	}
	told, err := r.sqlServerAdmin(ctx, db, "the database", sqlServerRoles, sqlServerDatabaseRights)
	switch {
	case err != nil:
		return r, err
	case !told: // whoever asks has CONNECT
		return r, errNoDatabaseRight
	}
	if table != "" {
		r.Writes, err = sqlServerWritesOf(ctx, db, table)
	}
	return r, err
}

// sqlServerAdmin takes in what makes the login an administrator of the server or the database, and says whether it has any right
// there. Whoever owns it has every right: these are not told one by one.
func (r *Rights) sqlServerAdmin(ctx context.Context, db *sql.DB, of, roles, permissions string) (told bool, err error) {
	has, err := sqlServerList(ctx, db, roles)
	if err != nil {
		return false, err
	}
	r.Admin = append(r.Admin, has...)
	may, err := sqlServerList(ctx, db, permissions)
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
			if !sqlServerHarmless(permission) {
				r.Admin = append(r.Admin, permission+" on "+of)
			}
		}
	}
	return len(may) > 0, nil
}

// sqlServerWritesOf returns the rights to change a table or some of its columns. Whoever reads a table has a permission on it:
// none at all means that the name was not understood, and not that the login may only read.
func sqlServerWritesOf(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	may, err := sqlServerList(ctx, db, sqlServerTableRights, sql.Named("table", table))
	if err != nil {
		return nil, err
	}
	if len(may) == 0 {
		return nil, fmt.Errorf("the server shows no permission on %s: look at source__table, and grant SELECT", table)
	}
	return slices.DeleteFunc(may, func(permission string) bool { return !slices.Contains(sqlServerWrites, permission) }), nil
}

// sqlServerList reads one column of names.
func sqlServerList(ctx context.Context, db *sql.DB, question string, args ...any) (names []string, err error) {
	rows, err := db.QueryContext(ctx, question, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
