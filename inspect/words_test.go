package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/state"
)

// The schedule of attempts is that of the settings: the default one is 0s, 1s, 6s, 36s, 2m36s.
func TestPolicy(t *testing.T) {
	for _, c := range []struct {
		settings []string
		attempts string
		words    []string
	}{
		{nil, "0s 1s 6s 36s 2m36s", []string{"5 attempt(s): at 0s, 1s, 6s, 36s, 2m36s", "order key is parked", "1000 parked",
			"after_dead_letter=release"}},
		{[]string{"max_attempts=1"}, "0s", []string{"1 attempt(s): at 0s\n"}},
		{[]string{"retry_delays=30m", "max_attempts=4"}, "0s 30m 1h 1h30m", nil},
		{[]string{"max_attempts=12", "retry_delays=1s"}, "0s 1s 2s 3s 4s 5s 6s 7s 8s 9s", []string{"12 attempt(s)", "9s, …"}},
		{[]string{"ordering=source"}, "0s 1s 6s 36s 2m36s", []string{"the poller waits"}},
		{[]string{"ordering=none", "max_parked=7"}, "0s 1s 6s 36s 2m36s", []string{"all others go on", "7 parked"}},
		{[]string{"after_dead_letter=block"}, "0s 1s 6s 36s 2m36s",
			[]string{"replayed or purged", "after_dead_letter=block"}},
	} {
		p := pollerOf(t, c.settings...)
		v := PolicyOf(p)
		if got := strings.Join(v.Attempts, " "); got != c.attempts {
			t.Errorf("%q: attempts at %s, want %s", c.settings, got, c.attempts)
		}
		for _, word := range c.words {
			if !strings.Contains(v.String(), word) {
				t.Errorf("%q: %q is not said: %s", c.settings, word, v.String())
			}
		}
	}
}

// pollerOf reads settings of one good poller.
func pollerOf(t *testing.T, settings ...string) *config.Poller {
	t.Helper()
	return loadPoller(t, append([]string{"source__table=orders", "source__cursor=id"}, settings...)...)
}

// loadPoller reads settings of one poller, over an SQLite database and to stdout.
func loadPoller(t *testing.T, settings ...string) *config.Poller {
	t.Helper()
	env := []string{"state__kind=memory", "DB=sqlite:shop.db", "Q=UseDevelopmentStorage=true",
		"pollers__orders__source__connection=DB",
		"pollers__orders__output__kind=stdout"}
	for _, s := range settings {
		env = append(env, "pollers__orders__"+s)
	}
	app, err := config.Load(env)
	if err != nil {
		t.Fatal(err)
	}
	return app.Pollers[0]
}

func TestWhereDeadLettersGo(t *testing.T) {
	a := &App{Config: &config.App{State: config.State{Kind: "file", Path: "/var/rr", AppName: "shop"}}}
	for want, c := range map[string]struct {
		output   string
		settings []string
	}{
		"deadletters/shop/orders/ in the state store (files below /var/rr)":       {},
		"deadletters/shop/orders.audit/ in the state store (files below /var/rr)": {output: "audit"},
		"queue orders-dead of Q": {settings: []string{"dead_letter__kind=queue", "dead_letter__connection=Q"}},
	} {
		if got := a.deadLettersAt(pollerOf(t, c.settings...), c.output); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a mode costs and cannot see depends on the engine, the rights of the login, and the settings.
func TestLateCommits(t *testing.T) {
	for _, c := range []struct {
		mode     late.Mode
		engine   string
		shown    bool
		settings []string
		cost     []string
		missed   string
		mend     string
	}{
		{mode: late.Exact, engine: "sqlite", cost: []string{"nothing"}, missed: "but for updates, ids"},
		{mode: late.Exact, engine: "postgres", cost: []string{"two snapshots"}, missed: "without the trigger"},
		{mode: late.Exact, engine: "sqlserver", cost: []string{"late_limit (1m0s)"}, missed: "SWITCH"},
		{mode: late.Exact, engine: "sqlserver", settings: []string{"source__on_long_transaction=wait"},
			cost: []string{"on_long_transaction=wait"}, missed: "SWITCH"},
		{mode: late.Overlap, engine: "mysql", shown: true,
			cost:   []string{"no delay", "every 5s", "up to 1000000", "about 4166 rows per second"},
			missed: "when its transaction begins to write"},
		{mode: late.Overlap, engine: "mysql", settings: []string{"source__late_window=10s", "source__late_memory=2000"},
			cost: []string{"last 10s", "every 1s", "about 100 rows per second"}, missed: "more than late_window (10s)",
			mend: "GRANT PROCESS"},
		{mode: late.Overlap, engine: "postgres", missed: "more than late_window (2m0s)", mend: "pg_read_all_stats"},
		{mode: late.Overlap, engine: "sqlserver", missed: "more than late_window (2m0s)", mend: "VIEW SERVER STATE"},
		{mode: late.Overlap, engine: "sqlite", missed: "are not shown"},
		{mode: late.Settle, engine: "mysql", shown: true, cost: []string{"2m0s late"},
			missed: "more than late_window (2m0s)"},
		{mode: late.None, engine: "mysql", shown: true, cost: []string{"nothing"}, missed: "it is lost"},
	} {
		v := Late{Mode: c.mode}
		v.explain(c.engine, c.shown, &pollerOf(t, c.settings...).Source)
		for _, word := range c.cost {
			if !strings.Contains(v.Cost, word) {
				t.Errorf("%s, %s: the cost does not say %q: %s", c.mode, c.engine, word, v.Cost)
			}
		}
		if !strings.Contains(v.Missed, c.missed) || !strings.Contains(v.Mend, c.mend) || (c.mend == "") != (v.Mend == "") {
			t.Errorf("%s, %s: missed %q, mend %q", c.mode, c.engine, v.Missed, v.Mend)
		}
	}
}

// In overlap mode the checkpoint is the window's low edge, and live rows go on from the frontier.
func TestPositionOfADocument(t *testing.T) {
	low, frontier := change.Cursor(`{"kind":"integer+pk","value":1}`), change.Cursor(`{"kind":"integer+pk","value":9}`)
	doc := state.Document{Checkpoint: state.Checkpoint{Cursor: low}, Parked: state.ObjectRef{Object: "x", Count: 3}}
	for _, c := range []struct {
		late state.Late
		from change.Cursor
		says []string
	}{
		{state.Late{}, low, []string{`"value":1}`}},
		{state.Late{Mode: "exact", Frontier: frontier}, low, []string{`"value":1}`}},
		{state.Late{Mode: "overlap"}, low, []string{`"value":1}`}},
		{state.Late{Mode: "overlap", Frontier: frontier}, frontier,
			[]string{`"value":1} (the low edge of late_window`, `up to {"kind":"integer+pk","value":9}`}},
	} {
		doc.Late = c.late
		var v Output
		from := checkpointed.Frontier(&doc)
		if v.take(&state.Snapshot{Doc: doc}); !from.Equal(c.from) || v.Parked != 3 || v.Paused != "" {
			t.Errorf("%+v: rows come after %s, want %s; %+v", c.late, from, c.from, v)
		}
		if slices.ContainsFunc(c.says, func(word string) bool { return !strings.Contains(v.Position, word) }) {
			t.Errorf("%+v: %q does not say %q", c.late, v.Position, c.says)
		}
	}
	doc.Paused = &state.Paused{By: "ann", At: time.Unix(1775525000, 0)}
	var v Output
	if v.take(&state.Snapshot{Doc: doc}); v.Paused != "by ann since 2026-04-07T01:23:20Z" {
		t.Errorf("paused %q", v.Paused)
	}
}

func TestWhichStrategySuits(t *testing.T) {
	for name, c := range map[string]struct {
		about    publisher.About
		settings []string
		says     string
	}{
		"leader, and fan-out": {publisher.About{Strategy: claims.Leader},
			[]string{"source__fanout_queue=q-1", "source__fanout_connection=Q"}, "source__fanout_queue has no effect"},
		"skip_locked on SQLite": {publisher.About{Strategy: claims.SkipLocked}, nil, "skip_locked gains nothing on SQLite"},
		"another count in force": {publisher.About{Strategy: claims.Partitioned, Partitions: 8}, nil,
			"8 partitions are in force"},
		"more owners than pieces": {publisher.About{Strategy: claims.Partitioned, Partitions: 1,
			Owners: make([]claims.Owner, 2)}, []string{"source__partitions=1"}, "2 instances share 1 partitions"},
		"released": {publisher.About{Strategy: claims.Leader}, []string{"after_dead_letter=release"},
			"its order is broken"},
		"all is well": {publisher.About{Strategy: claims.Leader}, nil, ""},
	} {
		p := &Poller{Engine: "sqlite",
			Config: loadPoller(t, append([]string{"source__table=outbox", "source__mode=outbox"}, c.settings...)...)}
		list := p.unsuited(&c.about)
		if c.says == "" && len(list) > 0 || c.says != "" && !strings.Contains(strings.Join(list, "\n"), c.says) {
			t.Errorf("%s: %q, want %q", name, list, c.says)
		}
	}
}
