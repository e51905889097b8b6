package source

import (
	"errors"
	"path/filepath"
	"testing"

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
	t.Parallel()
	p := snapshotPlan(t, plan.Config{Where: "amount > 0::money OR amount IS NULL"})
	pinned := map[string]string{}
	for name, at := range map[string]string{
		"scan_begin": ``, "scan_next": `{"kind":"snapshot+pk","scan":"5:9:7","after":{"tenant":"a","id":1}}`,
		"window_begin": `{"kind":"snapshot+pk","s1":"5:9:7"}`,
		"window_whole": `{"kind":"snapshot+pk","s1":"9:9:"}`,
		"window_past":  `{"kind":"snapshot+pk","s1":"5:9:7","s2":"5:19:12","after":{"value":9,"tiebreaker":{"tenant":"a","id":1}}}`,
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
		st, args, err := p.Live().Snapshots().Statement(501, w, end, nil)
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
	pinned["present"], pinned["ahead"] = p.Snapshots().Present().Text+"\n", snapshot.Ahead(&p.Sel).Text+"\n"
	for name, text := range pinned {
		golden.Pin(t, filepath.Join("postgres", "snapshot_"+name+".sql"), text)
	}
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
