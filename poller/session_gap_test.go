package poller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// TestTableReplaced: what the source says of a table that is not the one recorded decides, and a table that is found
// sound is recorded.
func TestTableReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		was, is, rebuilt string
		anew             error
		event            Event
		asked, warnings  int
		recorded         string
	}{
		"the same":        {was: "oid 1", is: "oid 1", event: TickComplete, recorded: "oid 1"},
		"an old document": {was: "", is: "oid 1", event: TickComplete, recorded: "oid 1"},
		"not shown":       {was: "oid 1", is: "", event: TickComplete, recorded: "oid 1"},
		"nothing below":   {was: "oid 1", is: "oid 2", event: TickComplete, asked: 1, recorded: "oid 2"},
		"rebuilt":         {was: "oid 1", is: "oid 2", rebuilt: "it was rebuilt", event: TickComplete, asked: 1, warnings: 1, recorded: "oid 2"},
		"made anew":       {was: "oid 1", is: "oid 2", anew: fmt.Errorf("%w: made anew", ErrGap), event: SourceGap, asked: 1, recorded: "oid 1"},
		"not known":       {was: "oid 1", is: "oid 2", anew: errors.New("connection lost"), event: FetchFailed, asked: 1, recorded: "oid 1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.table = c.was
				s.fill(1, 1)
				p := newProcess(t, nil, s, nil)
				p.tick()
				s.table, s.rebuilt, s.anew = c.is, c.rebuilt, c.anew
				// An idle tick looks as well, and is told once.
				r := p.tick()
				if r.Event != c.event && (c.event != TickComplete || r.Event != FetchEmpty) || len(r.Warnings) != c.warnings {
					t.Fatalf("the idle tick: %s, %q, %v", r.Event, r.Warnings, r.Err)
				}
				if len(s.asked) != c.asked || c.asked > 0 && !strings.Contains(s.asked[0], c.was+" "+c.is) {
					t.Errorf("asked %q", s.asked)
				}
				if c.event == SourceGap && (!strings.Contains(r.Err.Error(), "accept-gap") || !strings.Contains(r.Err.Error(), "--to beginning")) {
					t.Errorf("%v", r.Err)
				}
				s.fill(2, 2)
				r = p.tick()
				if r.Event != c.event || c.event == TickComplete && (len(r.Warnings) > 0 || len(s.asked) != c.asked) {
					t.Errorf("the next tick: %s, %q, asked %d times: %v", r.Event, r.Warnings, len(s.asked), r.Err)
				}
				if got := p.doc().Checkpoint.Table; got != c.recorded {
					t.Errorf("recorded is %q", got)
				}
			})
		})
	}
}

// TestColumnsRetyped: the position means another row where the cursor's column has another kind of value. A document of
// an older version, which names no kinds, gets those that there are.
func TestColumnsRetyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.tick()
		s.describe.Columns = `"at" datetime, "id" integer`
		s.fill(2, 2)
		if r := p.tick(); r.Event != TickComplete || p.doc().Checkpoint.Columns != s.describe.Columns {
			t.Fatalf("%s, %v, recorded %q", r.Event, r.Err, p.doc().Checkpoint.Columns)
		}
		s.describe.Columns = `"at" instant, "id" integer`
		s.fill(3, 3)
		r := p.tick()
		if r.Event != FingerprintMismatch || !strings.Contains(r.Err.Error(), "accept-fingerprint") || !strings.Contains(r.Err.Error(), "instant") {
			t.Errorf("%s, %v", r.Event, r.Err)
		}
	})
}
