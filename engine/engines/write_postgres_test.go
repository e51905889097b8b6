package engines

import (
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestWriteDBPostgres: every transaction of the pool is READ COMMITTED, whatever the default of server, role or
// connection string is.
func TestWriteDBPostgres(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable%20read", "serializable"} {
		c, err := Parse(testenv.Postgres(t) + "&default_transaction_isolation=" + level)
		if err != nil {
			t.Fatal(err)
		}
		db := c.WriteDB(1)
		defer db.Close() //nolint:errcheck // the test's own
		tx := testenv.Begin(t, db)
		var got string
		if err := tx.QueryRowContext(t.Context(), "SHOW transaction_isolation").Scan(&got); err != nil ||
			got != "read committed" {
			t.Errorf("the isolation is %s, %v", got, err)
		}
		testenv.Commit(t, tx)
	}
}
