package tracking_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/tracking"
)

// TestStatements pins what is run on a user's database, and what changes are read through.
func TestStatements(t *testing.T) {
	t.Parallel()
	for _, d := range []engine.Dialect{postgres.Dialect{}, mysql.Dialect{}, sqlite.Dialect{}, sqlserver.Dialect{}} {
		s := d.Syntax()
		from := map[string]string{"sqlite": "orders", "sqlserver": "shop.[or'ders]"}[s.Name]
		if from == "" {
			from = "shop.orders"
		}
		parts, err := engine.SplitName(from)
		if err != nil {
			t.Fatal(err)
		}
		key := []engine.Column{{Name: "tenant", Type: "varchar(20)"}, {Name: "id", Type: "bigint"}}
		orders := engine.Table{Name: from, From: engine.QuotedName(parts, s.Quote), PrimaryKey: []string{"tenant", "id"},
			Columns: append(key[:2:2], engine.Column{Name: "note", Type: "text", Nullable: true})}
		changes := engine.Table{PrimaryKey: orders.PrimaryKey, Columns: append(key[:2:2],
			engine.Column{Name: engine.ChangeVersion}, engine.Column{Name: engine.ChangeCreated})}
		c, err := tracking.Of(d, &orders, "", "orders", tracking.Writes{})
		if err != nil {
			t.Fatal(err)
		}
		if b := s.Tracking.BuiltIn; b != nil {
			changes = *tracking.BuiltIn(b, &orders)
			for _, text := range append(s.Tracking.Install(c, nil), s.Tracking.Uninstall(c)...) {
				tsqltest.Is(t, text, "IfStatement")
			}
		}
		pinned(t, d, &orders, &changes, c, s.Name+".sql")
		for name, writes := range map[string]tracking.Writes{"changed": {Changed: []string{"note"}},
			"context": {Ignored: "0x52454c59"}, "changed_context": {Changed: []string{"note"}, Ignored: "0x52454c59"}} {
			c, err := tracking.Of(d, &orders, "", "orders", writes)
			if s.Name == "sqlite" && writes.Ignored != "" && errors.Is(err, poller.ErrConfig) {
				continue // a writer cannot tell a trigger who it is
			}
			if err != nil {
				t.Fatal(err)
			}
			with := changes
			with.Columns = append(slices.Clone(changes.Columns), engine.Column{Name: c.Touched()})
			if s.Tracking.BuiltIn != nil {
				for _, text := range s.Tracking.Install(c, nil) {
					tsqltest.Is(t, text, "IfStatement")
				}
			}
			pinned(t, d, &orders, &with, c, s.Name+"_"+name+".sql")
		}
		if s.Tracking.Histories != nil {
			pinnedHistory(t, d, &orders)
		}
	}
}

// pinnedHistory pins what is run for a history, and for one that records other columns.
func pinnedHistory(t *testing.T, d engine.Dialect, orders *engine.Table) {
	t.Helper()
	s := d.Syntax()
	script := ""
	shown := map[string]string{} // a statement is shown once
	for _, had := range [][]string{nil, {"tenant", "id", "gone", "rowrelay_was_tenant", "rowrelay_was_id",
		"rowrelay_was_gone"}} {
		c, err := tracking.Of(d, orders, "", "orders", tracking.Writes{Every: true, Before: true})
		if err != nil {
			t.Fatal(err)
		}
		c.History.Has = had
		w := tracking.Work{Engine: s.Name, AtOnce: s.Tracking.AtOnce,
			Statements: s.Tracking.Histories.Install(c, []string{"varchar(20)", "bigint", "text"}, had == nil)}
		for i, text := range w.Statements {
			if shown[text] == "" {
				shown[text], _, _ = strings.Cut(text, "\n")
				continue
			}
			w.Statements[i] = "-- as above: " + shown[text]
		}
		script += w.Script() + "\n"
		if had != nil {
			w.Statements = s.Tracking.Uninstall(c)
			script += "-- uninstall\n" + w.Script()
		}
	}
	golden.Pin(t, s.Name+"_history.sql", script)
}

// pinned pins what is run for a change table.
func pinned(t *testing.T, d engine.Dialect, orders, changes *engine.Table, c *engine.ChangeTable, file string) {
	t.Helper()
	s := d.Syntax()
	joined, err := tracking.Join(d, orders, changes, c)
	if err != nil {
		t.Fatal(err)
	}
	install := tracking.Work{Engine: s.Name, AtOnce: s.Tracking.AtOnce,
		Statements: s.Tracking.Install(c, []string{"varchar(20)", "bigint"})}
	uninstall := tracking.Work{Engine: s.Name, AtOnce: s.Tracking.AtOnce, Statements: s.Tracking.Uninstall(c)}
	script := install.Script() + "\n-- uninstall\n" + uninstall.Script()
	if s.Tracking.BuiltIn == nil {
		purge := tracking.PurgeOf(d, c, []tracking.Reader{{Passed: "this"}, {Passed: "that", Own: "near"}}, time.Hour, "")
		script += "\n-- purge\n" + purge.Script()
		if c.Touched() == "" {
			most := tracking.PurgeOf(d, c, []tracking.Reader{{Passed: "this", At: "here", Own: "near"}}, time.Hour, "4711")
			script += "\n-- purge, with a limit\n" + most.Script()
		}
	}
	golden.Pin(t, file, script+"\n-- rows\n"+joined.Changes.Rows+"\n")
}

func TestDefaultName(t *testing.T) {
	t.Parallel()
	long := "a_table_with_a_name_that_is_rather_long_for_every_engine"
	for table, want := range map[string]string{"orders": "rowrelay_changes_orders",
		long: "rowrelay_changes_a_table_with_a_name_that_is_99c0"} {
		got := tracking.DefaultName(table, false)
		if len(got) > 52 || got != want && table != long || table == long && got == tracking.DefaultName(long+"2", false) {
			t.Errorf("%s: %s", table, got)
		}
	}
}
