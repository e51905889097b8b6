package testenv

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// ODBC is the connection string of a PostgreSQL database for ODBC: its driver, named by its file, needs no
// registration.
func ODBC(database *url.URL) string {
	driver := "psqlodbcw.so"
	if found, _ := filepath.Glob("/usr/lib/*/odbc/" + driver); len(found) > 0 { // the pattern is good
		driver = found[0]
	}
	password, _ := database.User.Password()
	return fmt.Sprintf("Driver=%s;Server=%s;Port=%s;Database=%s;Uid=%s;Pwd=%s",
		driver, database.Hostname(), database.Port(),
		strings.TrimPrefix(database.Path, "/"), database.User.Username(), password)
}
