package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
)

// badInput is one thing that is wrong: with the settings, or with something outside.
type badInput struct {
	name  string
	stall func(t *testing.T, url string) *stall
	// bad settings are the poller's own, or the application's where the name begins with a dot.
	bad settings
	// spoil breaks something outside, and may return further settings that lead there. What mend does is seen by the
	// process that goes on; where it is nil, the process starts again with good settings.
	spoil func(t *testing.T, s *stall, to *sink) (bad settings, mend func())
	// event is what the tick ends as; says are parts of its error and of what to do, each after a new line.
	event string
	says  []string
	// rests: the next tick fails too, but does not ask again, and writes no line of its own.
	rests bool
	// reason, where set, is that of the line.
	reason string
	// stored: it is about a document that exists, or comes after its creation.
	stored bool
	// fresh: it is about a poller without a document. (In the middle, a changed filter is another source.)
	fresh bool
	// leased: it comes after the lease was taken, so that the document's lease moves, and its position does not.
	leased bool
}

// try breaks, looks, mends and looks again. With stored, the poller has delivered something before.
func (b *badInput) try(t *testing.T, stored bool) {
	t.Parallel()
	to := newSink(t)
	s := b.stall(t, to.URL)
	s.add(1, 6) // more than a destination may refuse before that is an outage
	have, rows := 0, 5
	if stored {
		once(t, t.TempDir(), s.settings)
		s.add(6, 11)
		have, rows = 5, 10
	}
	root := functionApp(t, s.settings)
	bad, mend := maps.Clone(b.bad), (func())(nil)
	if b.spoil != nil {
		more, m := b.spoil(t, s, to)
		if mend = m; bad == nil {
			bad = settings{}
		}
		maps.Copy(bad, more)
	}
	before := s.documents()
	host := startHost(t, root, s.withOwn(bad))
	tries := 2
	if b.rests {
		tries = 1
	}
	for range tries {
		line := readLine(t, mustFail(t, host, s.poller))
		if line.Event != b.event {
			t.Errorf("event %s, want %s", line.Event, b.event)
		}
		if b.reason != "" && line.Reason != b.reason {
			t.Errorf("reason %q, want %q", line.Reason, b.reason)
		}
		for _, want := range b.says {
			if !strings.Contains("\n"+line.Error+"\n"+line.Next, want) {
				t.Errorf("the line lacks %q", want)
			}
		}
		if t.Failed() || testing.Verbose() {
			t.Log(line)
		}
	}
	if b.rests {
		if r := host.Invoke(t.Context(), s.poller); r.Succeeded || r.Hung || len(failures(host, s.poller)) != 1 {
			t.Errorf("a tick that does not ask again: %+v\n%s", r, transcript(host))
		}
	}
	if b.leased {
		if was, is := positions(t, before), positions(t, s.documents()); !maps.Equal(was, is) {
			t.Errorf("the position moved:\n%s\n%s", was, is)
		}
	} else if is := s.documents(); !maps.Equal(before, is) {
		t.Errorf("the state changed:\n%s\n%s", before, is)
	}
	if n, _ := to.count(); n != have {
		t.Errorf("%d events have arrived, want %d", n, have)
	}
	if err := host.Stopped(); err != nil || host.Restarts() > 0 {
		t.Errorf("the process did not go on: %v, %d restarts", err, host.Restarts())
	}
	if mend != nil {
		mend()
	} else {
		host.Close()
		host = startHost(t, root, s.settings)
	}
	must(t, host, s.poller)
	if n, repeated := to.count(); n != rows || repeated != 0 {
		t.Errorf("mended: %d events, %d repeated, want %d and none", n, repeated, rows)
	}
}

func tryAll(t *testing.T, cases []badInput) {
	t.Helper()
	for i := range cases {
		b := &cases[i]
		if !b.stored {
			t.Run(b.name+"/no document yet", func(t *testing.T) { b.try(t, false) })
		}
		if !b.fresh {
			t.Run(b.name+"/in the middle", func(t *testing.T) { b.try(t, true) })
		}
	}
}

// TestBadInputSettings: a poller whose settings are at fault ends each tick with what config says of them (whose own
// tests have every fault), touches nothing, and goes on when they are mended.
func TestBadInputSettings(t *testing.T) {
	t.Parallel()
	cases := []badInput{
		{name: "unknown name", bad: settings{"source__tabel": "orders"},
			says: []string{"pollers__orders__source__tabel", "Did you mean", "source__table"}},
		{name: "no table", bad: settings{"source__table": ""},
			says: []string{"pollers__orders__source__table", "is required", "dbo.Orders"}},
		{name: "bad duration", bad: settings{"lease_ttl": "60"},
			says: []string{"pollers__orders__lease_ttl", "has no unit", "60s"}},
		{name: "two faults at once", bad: settings{"batch_size": "0", "concurrency": "0"},
			says: []string{"2 faults", "batch_size", "concurrency"}},
		{name: "budget beyond the host's", bad: settings{"tick_budget": "10m"},
			says: []string{"tick_budget", "functionTimeout"}},
		{name: "connection string in place", bad: settings{"source__connection": "postgres://u:p@h/d"},
			says: []string{"source__connection", "name of a setting"}},
		{name: "unset expansion", bad: settings{"source__table": "%ORDERS_TABEL%"},
			says: []string{"source__table", "ORDERS_TABEL", "not set"}},
		{name: "key vault, database", bad: settings{".SHOP_DB": vaultReference},
			says: []string{"SHOP_DB", "Key Vault reference", "Key Vault Secrets User"}},
		{name: "key vault, header", bad: settings{"output__headers__X_Key": vaultReference},
			says: []string{"output__headers__X_Key", "Key Vault reference"}},
		{name: "key vault, storage", bad: settings{".state__kind": "blob", ".AzureWebJobsStorage": vaultReference},
			says: []string{"AzureWebJobsStorage", "Key Vault reference"}},
		{name: "order in a query", bad: settings{"source__table": "", "source__query": "SELECT * FROM orders ORDER BY id",
			"source__key": "id"}, says: []string{"source__query", "ORDER BY"}},
		{name: "two conditions", fresh: true, bad: settings{"source__where": "1=1) OR (1=1; DROP TABLE orders"},
			says: []string{"source__where"}},
	}
	for i := range cases {
		cases[i].stall, cases[i].event = sqliteStall, "config_invalid"
	}
	tryAll(t, cases)
}

const vaultReference = "@Microsoft.KeyVault(SecretUri=https://shop.vault.azure.net/secrets/db/)"

func TestBadInputSource(t *testing.T) {
	t.Parallel()
	cases := []badInput{
		{name: "sqlite absent table", stall: sqliteStall, bad: settings{"source__table": "absent"},
			says: []string{"source__table", `"absent"`, "no such table"}},
		{name: "sqlite absent cursor", stall: sqliteStall, bad: settings{"source__cursor": "absent"},
			says: []string{"source__cursor", "absent", "version"}},
		{name: "sqlite absent key", stall: sqliteStall, bad: settings{"source__key": "absent"},
			says: []string{"source__key", "absent"}},
		{name: "sqlite absent column", stall: sqliteStall, bad: settings{"source__columns": "id, absent"},
			says: []string{"source__columns", "absent"}},
		{name: "sqlite absent order key", stall: sqliteStall, bad: settings{"source__order_key": "absent"},
			says: []string{"source__order_key", "absent"}},
		{name: "sqlite absent delete column", stall: sqliteStall, bad: settings{"source__delete_when": "absent"},
			says: []string{"source__delete_when", "absent"}},
		{name: "sqlite absent column in where", stall: sqliteStall, fresh: true, bad: settings{"source__where": "absent = 1"},
			says: []string{"source__where", "absent"}},
		{name: "sqlite where that does not parse", stall: sqliteStall, fresh: true,
			bad: settings{"source__where": "status = = 1"}, says: []string{"source__where"}},
		{name: "sqlite absent file", stall: sqliteStall, bad: settings{".SHOP_DB": "sqlite:/nowhere/shop.db"},
			says: []string{"/nowhere/shop.db", "source__connection"}},
		{name: "sqlite view without a key", stall: sqliteStall, spoil: view,
			says: []string{"source__key is required", "is a view", "name the columns"}},
		{name: "sqlite text cursor", stall: sqliteStall, bad: settings{"source__cursor": "status"},
			says: []string{"source__cursor", `"status"`, "text is not a cursor", "ADD COLUMN changed_at DATETIME AS (",
				"name a column that grows"}},

		{name: "postgres absent table", stall: postgresStall, bad: settings{"source__table": "absent"},
			says: []string{"source__table", `"absent"`}},
		{name: "postgres absent column in where", stall: postgresStall, fresh: true,
			bad: settings{"source__where": "absent = 1"}, says: []string{"source__where", "absent"}},
		{name: "postgres view without a key", stall: postgresStall, spoil: view,
			says: []string{"source__key is required", "is a view"}},
		{name: "postgres text cursor", stall: postgresStall, bad: settings{"source__cursor": "status"},
			says: []string{"source__cursor", "text is not a cursor"}},
		{name: "postgres uuid cursor", stall: uuidStall, bad: settings{"source__cursor": "uid"},
			says: []string{"source__cursor", "uuid is not a cursor"}},
		{name: "postgres wrong password", stall: postgresStall, spoil: wrongPassword, rests: true,
			says: []string{"refused the login", "source__connection"}},
		{name: "postgres no privilege", stall: postgresStall, spoil: noPrivilege, says: []string{"GRANT SELECT"}},

		{name: "mysql absent table", stall: mysqlStall, bad: settings{"source__table": "absent"},
			says: []string{"source__table", `"absent"`}},
		{name: "mysql absent column in where", stall: mysqlStall, fresh: true, bad: settings{"source__where": "absent = 1"},
			says: []string{"source__where", "absent"}},
		{name: "mysql view without a key", stall: mysqlStall, spoil: view,
			says: []string{"source__key is required", "is a view"}},
		{name: "mysql text cursor", stall: mysqlStall, bad: settings{"source__cursor": "status"},
			says: []string{"source__cursor", "text is not a cursor"}},
		{name: "mysql uuid cursor", stall: mysqlStall, bad: settings{"source__cursor": "uid"},
			says: []string{"source__cursor", "is not a cursor"}}, // MySQL has no such type: a text
		{name: "mysql wrong password", stall: mysqlStall, spoil: wrongPassword, rests: true,
			says: []string{"refused the login", "source__connection"}},
		{name: "mysql type without a form", stall: mysqlStall, bad: settings{"source__columns": "id, spot"},
			says: []string{`"spot"`, "point", "source__query", "source__columns"}},

		{name: "sqlite column that went away", stall: sqliteStall, stored: true, spoil: renamedColumn,
			says: []string{"source__cursor", `"version"`}},
		{name: "postgres column that went away", stall: postgresStall, stored: true, spoil: renamedColumn,
			says: []string{"source__cursor", `"changed_at"`}},
		{name: "postgres down", stall: postgresStall, spoil: down, event: "fetch_failed",
			says: []string{"cannot connect after", "connection refused", "check host, port and firewall", "source__connection"}},
		{name: "mysql down", stall: mysqlStall, spoil: down, event: "fetch_failed",
			says: []string{"cannot connect after", "connection refused", "check host, port and firewall", "source__connection"}},
		{name: "postgres type without a form", stall: postgresStall, spoil: arrayColumn,
			says: []string{`"spot"`, "array", "source__query", "source__columns"}},
		{name: "sqlite value that does not fit", stall: sqliteStall, stored: true, spoil: brokenRow,
			event: "normalize_failed", leased: true, says: []string{`"version"`, `"five"`, "correct the row", "source__where"}},
	}
	for i := range cases {
		if cases[i].event == "" {
			cases[i].event = "config_invalid"
		}
	}
	tryAll(t, cases)
}

// view makes a view of the stall's table, to be named by a bad setting.
func view(t *testing.T, s *stall, _ *sink) (settings, func()) {
	execute(t, s.db, `CREATE VIEW latest AS SELECT * FROM `+s.settings[s.own("source__table")])
	return settings{"source__table": "latest"}, nil
}

// uuidStall has a column of type uuid from the beginning: one that is added later changes every row, and with overlap a
// row of the open window that has changed is another event.
func uuidStall(t *testing.T, url string) *stall {
	s := postgresStall(t, url)
	execute(t, s.db, `ALTER TABLE lines ADD COLUMN uid uuid NOT NULL DEFAULT gen_random_uuid()`)
	s.add = func(from, to int) {
		execute(t, s.db, fmt.Sprintf(`INSERT INTO lines (order_id, line_no, changed_at, version, status)
			SELECT i, 0, timestamptz '2026-01-01 00:00:00+00' + i * interval '1 ms', i, 'new' FROM generate_series(%d, %d) i`, from, to-1))
	}
	return s
}

// arrayColumn adds a column whose type has no lossless form.
func arrayColumn(t *testing.T, s *stall, _ *sink) (settings, func()) {
	execute(t, s.db, `ALTER TABLE lines ADD COLUMN spot int[]`)
	return nil, func() { execute(t, s.db, `ALTER TABLE lines DROP COLUMN spot`) }
}

// renamedColumn takes the cursor's column away, as a migration does.
func renamedColumn(t *testing.T, s *stall, _ *sink) (settings, func()) {
	table, column := s.settings[s.own("source__table")], s.settings[s.own("source__cursor")]
	execute(t, s.db, `ALTER TABLE `+table+` RENAME COLUMN `+column+` TO other`)
	return nil, func() { execute(t, s.db, `ALTER TABLE `+table+` RENAME COLUMN other TO `+column) }
}

// brokenRow is a row whose cursor is text, which SQLite allows in an INTEGER column.
func brokenRow(t *testing.T, s *stall, _ *sink) (settings, func()) {
	execute(t, s.db, `UPDATE orders SET version = 'five' WHERE version > 3`) // all that are to come
	return nil, func() { execute(t, s.db, `UPDATE orders SET version = id WHERE version = 'five'`) }
}

// wrongPassword leads to the same database with another password.
func wrongPassword(t *testing.T, s *stall, _ *sink) (settings, func()) {
	return settings{".SHOP_DB": withUser(t, s.settings["SHOP_DB"], "", "mistaken")}, nil
}

func withUser(t *testing.T, address, user, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("not a URL") // without the value: it holds a password
	}
	if user == "" {
		user = u.User.Username()
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

// noPrivilege leads to the same database as a user who may not read the table.
func noPrivilege(t *testing.T, s *stall, _ *sink) (settings, func()) {
	name := strings.ReplaceAll(unique("rr_reader"), "-", "_")
	execute(t, s.db, `CREATE ROLE `+name+` LOGIN PASSWORD 'reader'`)
	t.Cleanup(func() { // before the database goes: the role's privileges are in it
		for _, text := range []string{`DROP OWNED BY `, `DROP ROLE `} {
			if _, err := s.db.ExecContext(context.WithoutCancel(t.Context()), text+name); err != nil {
				t.Error(err)
			}
		}
	})
	return settings{".SHOP_DB": withUser(t, s.settings["SHOP_DB"], name, "reader")},
		func() { execute(t, s.db, `GRANT SELECT ON lines TO `+name) }
}

// down is a database that refuses connections, and comes back.
func down(_ *testing.T, s *stall, _ *sink) (settings, func()) {
	s.gate.down()
	return nil, s.gate.up
}
