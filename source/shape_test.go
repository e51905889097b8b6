package source

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestSQLTriggerValues: a receiver that was written for the Azure SQL trigger gets numbers and times as that writes
// them.
func TestSQLTriggerValues(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db,
		"CREATE TABLE o (id bigint PRIMARY KEY, price numeric(10,2), day date, at time, f float8, note text)",
		"INSERT INTO o VALUES (9223372036854775807, 19.90, '2026-04-07', '01:23:45.5', 2, '1.5')")
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	src, err := New(plan.Config{Poller: "orders", Table: "o", Cursor: []string{"id"}, LateCommits: "none"}, conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	page, err := src.Fetch(t.Context(), change.Range{}, everything)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"Operation":1,"Item":{"id":9223372036854775807,"price":19.90,"day":"2026-04-07T00:00:00",` +
		`"at":"01:23:45.5000000","f":2.0,"note":"1.5"}}]`
	if got := string(change.SQLTrigger.AppendBatch(nil, &change.Delivery{Events: page.Events})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
