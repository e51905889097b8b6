package source

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/snapshot"
)

// snapshotPlan is a plan over a table with a column of transactions and a key of two columns.
func snapshotPlan(t testing.TB, cfg plan.Config) *plan.Plan {
	t.Helper()
	d := postgres.Dialect{}
	cfg.Table, cfg.Cursor = "orders", []string{"xid"}
	if err := cfg.Complete(); err != nil {
		t.Fatal(err)
	}
	typed := func(name, typ string) engine.Column {
		return engine.Column{Name: name, Type: typ, Value: postgres.Type{Name: typ, Class: "b", Schema: "pg_catalog"}.Value()}
	}
	p, err := plan.New(d, &cfg, "h/d",
		engine.Table{Name: "shop.orders", From: `"shop"."orders"`, PrimaryKey: []string{"tenant", "id"},
			Columns: []engine.Column{typed("tenant", "text"), typed("id", "int8"), typed("amount", "money"),
				typed("xid", "xid8")}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Late.Exact != plan.ExactSnapshots || p.CursorKind != snapshot.TransactionKind || !p.UniqueCursor {
		t.Fatalf("%+v %s", p.Late, p.CursorKind)
	}
	return p
}

// TestGoldenSnapshots pins the statements of scans and windows.
func TestGoldenSnapshots(t *testing.T) {
	p := snapshotPlan(t, plan.Config{Where: "amount > 0::money OR amount IS NULL"})
	pinned := map[string]string{}
	for name, at := range map[string]string{
		"scan_begin": ``, "scan_next": `{"kind":"snapshot+pk","scan":"5:9:7","after":{"tenant":"a","id":1}}`,
		"window_begin": `{"kind":"snapshot+pk","s1":"5:9:7"}`,
		"window_next":  `{"kind":"snapshot+pk","s1":"5:9:7","s2":"5:19:7,12","after":{"value":7,"tiebreaker":{"tenant":"a","id":1}}}`,
	} {
		w, err := p.Snapshots().Decode(change.Cursor(at))
		if err != nil {
			t.Fatal(err)
		}
		end := ""
		if w.Open {
			end = w.UpTo.String()
		}
		st, args, err := p.Snapshots().Statement(501, w, end, nil)
		if err != nil || len(args) != len(st.Args) {
			t.Fatal(err)
		}
		text := st.Text + "\n"
		for i, param := range shown(p, st).Params {
			text += "-- parameter: " + param.Name + " " + param.Type + " = " + args[i].(string) + "\n"
		}
		pinned[name] = text
	}
	key := keyset.Pick(p.Sel.Columns, p.Key)
	for name, ends := range map[string][2]string{
		"count":        {`{"kind":"snapshot+pk","s1":"5:9:7"}`, `{"kind":"snapshot+pk","s1":"5:19:7"}`},
		"count_scan":   {`{"kind":"snapshot+pk","scan":"5:9:7","after":{"tenant":"a","id":1}}`, ``},
		"count_within": {`{"kind":"snapshot+pk","s1":"5:9:7","s2":"5:19:7,12","after":{"value":7,"tiebreaker":{"tenant":"a","id":1}}}`, ``},
	} {
		var w [2]snapshot.Window
		var places [2][]any
		for i, at := range ends {
			var err error
			if w[i], err = p.Snapshots().Decode(change.Cursor(at)); err != nil {
				t.Fatal(err)
			}
			if places[i], err = p.Snapshots().Args(&w[i]); err != nil {
				t.Fatal(err)
			}
		}
		pinned[name] = snapshot.Count(&p.Sel, w[0], w[1], places[0], places[1], key, 0).Text + "\n"
	}
	end, err := p.Snapshots().Decode(change.Cursor(`{"kind":"snapshot+pk","s1":"7:9:7"}`))
	if err != nil {
		t.Fatal(err)
	}
	pinned["count_up_to"] = snapshot.Count(&p.Sel, end, snapshot.Window{}, nil, nil, key, 1000).Text + "\n"
	pinned["present"], pinned["ahead"] = snapshot.Present(&p.Sel).Text+"\n", snapshot.Ahead(&p.Sel).Text+"\n"
	for name, text := range pinned {
		golden.Pin(t, filepath.Join("postgres", "snapshot_"+name+".sql"), text)
	}
}

// TestIdling: the position of an idle table moves once a minute, and only to where the server was when it was first
// found empty: what the server gave since may not be on its disk. Each output has a position of its own.
func TestIdling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i idling
		seen, now := snapshot.Snapshot{XMin: 5, XMax: 9}, snapshot.Snapshot{XMin: 9, XMax: 20}
		later := snapshot.Snapshot{XMin: 12, XMax: 500_000, XIP: []uint64{12, 30}}
		at, other := snapshot.After(seen), change.Cursor(`{"kind":"other"}`)
		if i.due(at, seen, seen) != nil || i.due(at, seen, now) != nil || i.due(other, seen, now) != nil {
			t.Error("it moves at once")
		}
		time.Sleep(idleEvery - time.Nanosecond)
		if i.due(at, seen, later) != nil || i.due(at, seen, seen) != nil {
			t.Error("it moves before a minute")
		}
		time.Sleep(time.Nanosecond)
		if i.due(at, seen, seen) != nil {
			t.Error("it moves to where it is")
		}
		if to := i.due(at, seen, later); string(to) != `{"kind":"snapshot+pk","s1":"12:20:12"}` {
			t.Errorf("after a minute it moves to %s", to)
		}
		if to := i.due(other, seen, now); !to.Equal(snapshot.After(now)) {
			t.Errorf("after a minute the other moves to %s", to)
		}
		if i.due(at, seen, later) != nil {
			t.Error("it moves again at once")
		}
		// A server that has come to less than it had has crashed: the minute begins anew.
		time.Sleep(idleEvery)
		if i.due(at, seen, now) != nil {
			t.Error("it moves although the server gives ids again")
		}
		time.Sleep(idleEvery)
		if to := i.due(at, seen, later); string(to) != `{"kind":"snapshot+pk","s1":"12:20:12"}` {
			t.Errorf("a minute after the crash it moves to %s", to)
		}
	})
}

// FuzzWindow: whatever a stored position holds, it is refused, or gives a statement whose arguments are in place.
func FuzzWindow(f *testing.F) {
	for _, at := range []string{
		``, `{"kind":"snapshot+pk","scan":"5:9:7","after":{"tenant":"a","id":1}}`, `{"kind":"snapshot+pk","s1":"5:9:7"}`,
		`{"kind":"snapshot+pk","s1":"5:9:7","s2":"5:19:7,12","after":{"value":7,"tiebreaker":{"tenant":"a","id":1}}}`,
		`{"kind":"xid8+pk","value":"18446744073709551615"}`, `{"kind":"integer+pk","value":7,"tiebreaker":{}}`,
	} {
		f.Add([]byte(at))
	}
	p := snapshotPlan(f, plan.Config{})
	f.Fuzz(func(t *testing.T, at []byte) {
		w, err := p.Snapshots().Decode(at)
		if err != nil {
			if !errors.Is(err, poller.ErrConfig) {
				t.Errorf("not ErrConfig: %v", err)
			}
			return
		}
		st, args, err := p.Snapshots().Statement(2, w, "", nil)
		if err == nil && len(args) != len(st.Args) {
			t.Errorf("%d arguments, %d placeholders", len(args), len(st.Args))
		}
		if w.Begun {
			if _, err := snapshot.Parse(w.Seen.String()); err != nil {
				t.Errorf("%s: %v", w.Seen, err)
			}
		}
	})
}
