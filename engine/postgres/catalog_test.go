package postgres

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/enginetest"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestCatalogReadsFew: what is asked of a table reads its own part of the catalog. A server has hundreds of collations,
// of which a wide table was once compared with all, for each column.
func TestCatalogReadsFew(t *testing.T) {
	db, err := sql.Open("pgx", testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test is over
	columns := make([]string, 100)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d text", i)
	}
	testenv.Exec(t, db, "CREATE TABLE wide (id bigint PRIMARY KEY, "+strings.Join(columns, ", ")+")", "ANALYZE")
	var oid string
	if err := db.QueryRowContext(t.Context(), "SELECT 'wide'::regclass::oid::text").Scan(&oid); err != nil {
		t.Fatal(err)
	}
	for text, args := range map[string][]any{
		tableSQL: {"", "wide"}, columnsSQL: {oid}, indexesSQL: {oid}, transactionsSQL: {oid},
	} {
		if n := enginetest.PostgresReads(t, db, text, args...); n > 3000 { // the types are 600, some of them read thrice
			t.Errorf("%d rows are read\n%s", n, text)
		}
	}
}
