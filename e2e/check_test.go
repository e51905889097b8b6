package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// checked is what `check --json` prints of one poller.
type checked struct {
	Poller   string
	Faults   []string
	Warnings []string
	Engine   string
	Table    string
	Key      string
	First    struct{ Text string } `json:"first_statement"`
	Next     struct {
		Text   string
		Params []string
	} `json:"next_statement"`
	Index       string
	CreateIndex string `json:"create_index"`
	NullCursors int    `json:"null_cursors"`
	WorstDelay  string `json:"worst_delay"`
	LeaseMargin string `json:"lease_margin"`
	Schedule    string
	Outputs     []struct {
		To, Document, Position, Lease string
		Events                        []cloudEvent
	}
}

// checkJSON runs `check --json` and returns its exit code, and what it found of one poller.
func checkJSON(t *testing.T, dir string, s settings, function string, args ...string) (code int, p checked) {
	t.Helper()
	out, errs, err := command(t, dir, s, append([]string{"check", "--json"}, args...)...)
	var view struct {
		Faults  []string
		Pollers []checked
	}
	if jsonErr := json.Unmarshal([]byte(out), &view); jsonErr != nil {
		t.Fatalf("%v: %s%s", jsonErr, out, errs)
	}
	at := slices.IndexFunc(view.Pollers, func(p checked) bool { return p.Poller == function })
	if at < 0 {
		t.Fatalf("no poller %s: %s", function, out)
	}
	p = view.Pollers[at]
	p.Faults = append(p.Faults, view.Faults...)
	return exitCode(t, err), p
}

// TestCheckOfAGoodApp: what will be run, what would be sent, how late and how safe; and nothing is written or sent.
func TestCheckOfAGoodApp(t *testing.T) {
	to := newSink(t)
	s := postgresStall(t, to.URL)
	s.add(1, 6)
	root := functionApp(t, s.settings)
	set := withSchedules(s.settings)
	code, p := checkJSON(t, root, set, "lines", "--rows", "2")
	if code != 0 || len(p.Faults) > 0 || len(p.Warnings) > 0 {
		t.Errorf("exit code %d, faults %q, warnings %q", code, p.Faults, p.Warnings)
	}
	wants(t, p.First.Text, `FROM "public"."lines"`, `ORDER BY r."changed_at", r."order_id", r."line_no"`)
	wants(t, p.Next.Text, `> (`, "LIMIT")
	if len(p.Next.Params) != 3 || p.Index != "lines_changed" || p.NullCursors != 0 {
		t.Errorf("parameters %q, index %q, NULL cursors %d", p.Next.Params, p.Index, p.NullCursors)
	}
	wants(t, p.Engine, "PostgreSQL")
	wants(t, p.Key, "primary key (order_id, line_no)")
	wants(t, p.Schedule, "*/10 * * * * *", "LINES_SCHEDULE")
	wants(t, p.WorstDelay, "10s")
	wants(t, p.LeaseMargin, "lease_ttl 10s", "heartbeat every 3.3", "clock margin 2s")
	if len(p.Outputs) != 1 || len(p.Outputs[0].Events) != 2 {
		t.Fatalf("outputs: %+v", p.Outputs)
	}
	out := p.Outputs[0]
	wants(t, out.To, "http "+to.URL)
	wants(t, out.Document, "state/shop/lines.json")
	wants(t, out.Position, "(beginning)", "no document yet")
	first := out.Events[0].ID
	if n, _ := to.count(); n != 0 || len(s.documents()) != 0 {
		t.Errorf("check sent %d events and wrote %v", n, s.documents())
	}

	said, errs, err := command(t, root, set, "check")
	if err != nil || errs != "" {
		t.Errorf("%v: %s", err, errs)
	}
	wants(t, said, "blob container", "lines_changed serves the order", "would send", "statement", "changed_at",
		"10s between two ticks", "lease_ttl 10s")

	once(t, root, set)
	to.mu.Lock()
	if to.accepted[first] != 1 {
		t.Errorf("the event that check showed, %s, is not the one that was sent", first)
	}
	to.mu.Unlock()
	before := s.documents()
	_, p = checkJSON(t, root, set, "lines")
	wants(t, p.Outputs[0].Position, "2026-01-01T00:00:00.123456Z")
	if len(p.Outputs[0].Events) != 0 {
		t.Errorf("events behind the position: %v", p.Outputs[0].Events)
	}
	for key, text := range s.documents() {
		if before[key] != text {
			t.Errorf("check changed the document: %s", text)
		}
	}
}

// TestCheckOfAnUnsafeApp: it works, and check says what will bite.
func TestCheckOfAnUnsafeApp(t *testing.T) {
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 0)
	execute(t, db, `CREATE TABLE visits (id INTEGER PRIMARY KEY, created_at TEXT, warned_at DATETIME)`)
	execute(t, db, `ALTER TABLE visits ADD COLUMN created INTEGER`)
	execute(t, db, `INSERT INTO visits (created) VALUES (1), (2), (NULL)`)
	s = s.with(settings{"pollers__orders__source__table": "visits", "pollers__orders__source__cursor": "created",
		"pollers__orders__output__url": "http://example.com/hook"})
	dir := t.TempDir()
	code, p := checkJSON(t, dir, s, "orders")
	if code != 0 || len(p.Faults) > 0 {
		t.Errorf("exit code %d, faults %q: warnings do not make it fail", code, p.Faults)
	}
	wants(t, strings.Join(p.Warnings, "\n"), "updates will not be seen", "no index serves the order",
		"1 rows have a NULL cursor", "plain http to another machine")
	if p.Index != "" || p.NullCursors != 1 {
		t.Errorf("index %q, NULL cursors %d", p.Index, p.NullCursors)
	}
	wants(t, p.CreateIndex, "CREATE INDEX", "created")
	said := stdout(t, dir, s, "check")
	wants(t, said, "! ", "updates will not be seen", "none serves the order", "CREATE INDEX")
}

// TestCheckOfABadApp: every fault at once, each with its mend, and it fails.
func TestCheckOfABadApp(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	root := functionApp(t, s)
	bad := s.with(settings{
		"pollers__orders__source__cursor": "status", "pollers__orders__source__columns": "id, nope",
		"pollers__other__source__connection": "SHOP_DBX", "pollers__other__batch_size": "0",
		"pollers__other__source__tabel": "x",
		"state__pth":                    "x",
	})
	said, errs, err := command(t, root, bad, "check")
	if exitCode(t, err) != 1 || errs != "" {
		t.Errorf("%v: %s", err, errs)
	}
	wants(t, said, "✗ state__pth", "Did you mean state__path", "pollers__other__batch_size",
		"Did you mean pollers__other__source__table", "SHOP_DBX, which is not set")
	code, p := checkJSON(t, root, bad.with(settings{"state__pth": ""}), "orders")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	wants(t, strings.Join(p.Faults, "\n"), "text is not a cursor", `"nope"`, "ORDERS_SCHEDULE, which is not set")
	// A poller beside it, named alone, is judged alone.
	good := s.with(settings{"pollers__other__source__connection": "SHOP_DBX", "ORDERS_SCHEDULE": "0 */5 * * * *"})
	if code, p := checkJSON(t, root, good, "orders", "orders"); code != 0 || !strings.Contains(p.WorstDelay, "5m0s") {
		t.Errorf("exit code %d, delay %q, faults %q", code, p.WorstDelay, p.Faults)
	}
	// No database: the fault says which setting to look at, and what could be said without one is said.
	code, p = checkJSON(t, root, s.with(settings{"ORDERS_SCHEDULE": "0 */5 * * * *",
		"SHOP_DB": "sqlite:/nowhere/shop.db"}), "orders")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	wants(t, strings.Join(p.Faults, "\n"), "/nowhere/shop.db", "source__connection")
	if len(p.Faults) != 1 {
		t.Errorf("one fault is said %d times: %q", len(p.Faults), p.Faults)
	}
	wants(t, p.LeaseMargin, "lease_ttl")
}
