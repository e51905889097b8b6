package testenv

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// IsMariaDB tells which of the two products a server is.
func IsMariaDB(tb testing.TB, db *sql.DB) bool {
	tb.Helper()
	return strings.Contains(query(tb, db, "SELECT VERSION()"), "MariaDB")
}

// MySQLNumbers is a table for a FROM clause whose column seq holds 1 to n, in words that MySQL and MariaDB share.
func MySQLNumbers(n int) string {
	digits := "(SELECT 0 AS d"
	for d := 1; d < 10; d++ {
		digits += fmt.Sprintf(" UNION ALL SELECT %d", d)
	}
	sum, from := "1", "(SELECT 1) AS one"
	for place := 1; place < n; place *= 10 {
		sum += fmt.Sprintf(" + %d * t%d.d", place, place)
		from += fmt.Sprintf(" JOIN %s) AS t%d", digits, place)
	}
	return fmt.Sprintf("(SELECT %s AS seq FROM %s HAVING seq <= %d) AS numbers", sum, from, n)
}
