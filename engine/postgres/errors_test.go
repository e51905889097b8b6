package postgres

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestConnectFaults: what the real server says to a connection string. An unknown parameter has the code of an unknown
// table, and is no fault of the settings that name tables.
func TestConnectFaults(t *testing.T) {
	server := testenv.Postgres(t)
	const stranger = "rowrelay_without_connect"
	db := testenv.Open(t, "pgx", server)
	testenv.Exec(t, db, "DROP ROLE IF EXISTS "+stranger, "CREATE ROLE "+stranger+" LOGIN PASSWORD '"+stranger+"'",
		"DO $$ BEGIN EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', current_database()); END $$")
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "DROP ROLE "+stranger); err != nil {
			t.Error(err)
		}
	})
	for parameter, want := range map[string]engine.Fault{
		"no_such_parameter=1": engine.FaultParameter, "statement_timeout=soon": engine.FaultParameter,
		"user=nobody_at_all": engine.FaultLogin, "database=not_there": engine.FaultLogin,
		"user=" + stranger + "&password=" + stranger: engine.FaultLogin,
	} {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery += "&" + parameter
		conn, err := pgx.Connect(t.Context(), u.String())
		if err == nil {
			_ = conn.Close(t.Context())
		}
		if got := (Dialect{}).Classify(err); got != want {
			t.Errorf("%s: %v is %d, want %d", parameter, err, got, want)
		}
		if want == engine.FaultParameter && !engine.Misconfigured(Dialect{}, err) {
			t.Errorf("%s: nobody has to act", parameter)
		}
	}
}

// TestStatementPooling: a pooler that takes no transactions is no outage that ends: somebody has to set it.
func TestStatementPooling(t *testing.T) {
	pooled := testenv.PgBouncerIn(t, testenv.Postgres(t), "statement")
	conn, err := pgx.Connect(t.Context(), pooled)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	_, err = conn.Exec(t.Context(), "BEGIN")
	if got := (Dialect{}).Classify(err); got != engine.FaultPooler || !engine.Misconfigured(Dialect{}, err) {
		t.Errorf("%v is %d", err, got)
	}
}
