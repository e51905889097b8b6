package testenv

import (
	"testing"
)

// ReadOnly makes a database of PostgreSQL one that takes no writes, for connections that are opened from now on: they
// are as those to a server that has become a standby. writable undoes it, for connections that are opened then.
func ReadOnly(tb testing.TB, postgresURL string) (writable func()) {
	tb.Helper()
	db := Open(tb, "pgx", postgresURL)
	conn, err := db.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
	})
	set := func(value string) {
		tb.Helper()
		ExecOn(tb, conn, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = "+value+
			"', current_database()); END $$")
	}
	set("on")
	return func() { set("off") }
}
