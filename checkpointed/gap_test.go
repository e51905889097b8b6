package checkpointed

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// TestTableReplaced: what the source says of a table that is not the one recorded decides, and a table that is found
// sound is recorded.
func TestTableReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		was, is, rebuilt string
		anew             error
		event            poller.Event
		asked, warnings  int
		recorded         string
	}{
		"the same":        {was: "oid 1", is: "oid 1", event: poller.TickComplete, recorded: "oid 1"},
		"an old document": {was: "", is: "oid 1", event: poller.TickComplete, recorded: "oid 1"},
		"not shown":       {was: "oid 1", is: "", event: poller.TickComplete, recorded: "oid 1"},
		"nothing below":   {was: "oid 1", is: "oid 2", event: poller.TickComplete, asked: 1, recorded: "oid 2"},
		"rebuilt": {was: "oid 1", is: "oid 2", rebuilt: "it was rebuilt", event: poller.TickComplete, asked: 1,
			warnings: 1, recorded: "oid 2"},
		"made anew": {was: "oid 1", is: "oid 2", anew: fmt.Errorf("%w: made anew", poller.ErrGap),
			event: poller.SourceGap, asked: 1, recorded: "oid 1"},
		"not known": {was: "oid 1", is: "oid 2", anew: errors.New("connection lost"), event: poller.FetchFailed,
			asked: 1, recorded: "oid 1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.table = c.was
				s.fill(1, 1)
				p := newProcess(t, nil, s, nil)
				p.tick()
				s.table, s.rebuilt, s.anew = c.is, c.rebuilt, c.anew
				// An idle tick finds it as well, and warns once.
				r := p.tick()
				if r.Event != c.event && (c.event != poller.TickComplete || r.Event != poller.FetchEmpty) ||
					len(r.Warnings) != c.warnings {
					t.Fatalf("the idle tick: %s, %q, %v", r.Event, r.Warnings, r.Err)
				}
				if len(s.asked) != c.asked || c.asked > 0 && !strings.Contains(s.asked[0], c.was+" "+c.is) {
					t.Errorf("asked %q", s.asked)
				}
				if c.event == poller.SourceGap &&
					(!strings.Contains(r.Err.Error(), "accept-gap") || !strings.Contains(r.Err.Error(), "--to beginning")) {
					t.Errorf("%v", r.Err)
				}
				s.fill(2, 2)
				r = p.tick()
				if r.Event != c.event || c.event == poller.TickComplete && (len(r.Warnings) > 0 || len(s.asked) != c.asked) {
					t.Errorf("the next tick: %s, %q, asked %d times: %v", r.Event, r.Warnings, len(s.asked), r.Err)
				}
				if got := p.doc().Checkpoint.Table; got != c.recorded {
					t.Errorf("recorded is %q", got)
				}
			})
		})
	}
}

// TestTableReplacedUnderReads: which read meets a table that was made anew does not matter. It is held against the live
// position, neither against the beginning of a backfill nor against that of a read above or below.
func TestTableReplacedUnderReads(t *testing.T) {
	for name, begin := range map[string]func(p *process){
		"live":     func(*process) {},
		"backfill": func(p *process) { p.backfill(state.Backfill{ID: "b1", To: position(3)}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.table = "oid 1"
				s.fill(1, 3)
				p := newProcess(t, nil, s, nil)
				p.tick()
				begin(p)
				s.table, s.anew = "oid 2", fmt.Errorf("%w: made anew", poller.ErrGap)
				if r := p.tick(); r.Event != poller.SourceGap || len(s.asked) != 1 ||
					s.asked[0] != "oid 1 oid 2 "+string(position(3)) {
					t.Errorf("%s, asked %q", r.Event, s.asked)
				}
			})
		})
	}
}

// TestRestoredInTheSession: a reset to the beginning and an accepted gap leave the document without an incarnation. A
// database that is restored after the first answer of the session is another one all the same.
func TestRestoredInTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.incarnation = ""
		s.fill(1, 3)
		p := newProcess(t, nil, s, nil)
		p.tick()
		s.fill(4, 4)
		session := p.open()
		s.incarnation = "first"
		p.settle(session, p.judge(session, p.next(session)))
		s.incarnation = "restored"
		s.fill(5, 5)
		_, err := session.Next(t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
		if fault := (*poller.Fault)(nil); !errors.As(err, &fault) || fault.Event != poller.SourceGap {
			t.Errorf("the next read: %v", err)
		}
		if got := p.doc().Checkpoint.Incarnation; got != "first" {
			t.Errorf("recorded is %q", got)
		}
	})
}

// TestReplacedAboveTheLivePosition: a read above the safe point begins after the live position, where rows of a new
// table that are still to come may stand below it.
func TestReplacedAboveTheLivePosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.table = "oid 1"
		s.fill(1, 3)
		p := newProcess(t, nil, s, nil)
		session := p.open()
		p.settle(session, p.judge(session, p.next(session)))
		session.table, s.table = "oid 1", "oid 2"
		if _, err := session.read(t.Context(), change.Range{After: position(9), Unsafe: true},
			poller.Limit{Rows: 1, Bytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		if len(s.asked) != 1 || !strings.HasSuffix(s.asked[0], string(position(3))) {
			t.Errorf("asked %q", s.asked)
		}
	})
}

// TestColumnsRetyped: the position means another row where the cursor's column has another kind of value, or where the
// key is sorted in another way. A document of an older version, which names neither, gets those that there are.
func TestColumnsRetyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.tick()
		const columns, collations = `"at" datetime, "id" text`, `"id" pg_catalog.C`
		s.describe.Columns, s.describe.Collations = columns, collations
		s.fill(2, 2)
		r, at := p.tick(), p.doc().Checkpoint
		if r.Event != poller.TickComplete || at.Columns != columns || at.Collations != collations {
			t.Fatalf("%s, %v, recorded %q, %q", r.Event, r.Err, at.Columns, at.Collations)
		}
		for _, now := range [][2]string{{`"at" instant, "id" text`, collations}, {columns, `"id" pg_catalog.de_DE`}} {
			s.describe.Columns, s.describe.Collations = now[0], now[1]
			s.fill(3, 3)
			if r = p.tick(); r.Event != poller.FingerprintMismatch || !strings.Contains(r.Err.Error(), "accept-fingerprint") ||
				!strings.Contains(r.Err.Error(), now[0]) && !strings.Contains(r.Err.Error(), now[1]) {
				t.Errorf("%s, %v", r.Event, r.Err)
			}
		}
	})
}

// TestGapHasOneRemedy: what accept-gap does is another thing where changes are missing, or the position is ahead:
// nothing may promise then that the poller goes on at its position.
func TestGapHasOneRemedy(t *testing.T) {
	for _, own := range []string{"", ": go on after the last change: rowrelay state accept-gap " + poller.AnyDocument} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.fill(1, 1)
			p := newProcess(t, nil, s, nil)
			p.tick()
			s.err = fmt.Errorf("%w: shop: changes are missing%s", poller.ErrGap, own)
			r := p.tick()
			if r.Event != poller.SourceGap || strings.Count(r.Err.Error(), "rowrelay state accept-gap orders") != 1 ||
				strings.Contains(r.Err.Error(), "at the stored position") {
				t.Errorf("%s: %v", r.Event, r.Err)
			}
		})
	}
}

// TestGapStays: rows that come after a gap was found take the source's counter past the position. Nobody has decided
// by then, and those up to there were never delivered: it stays a gap, for every instance.
func TestGapStays(t *testing.T) {
	for name, worked := range map[string]bool{"in an idle tick": false, "under the lease": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.fill(1, 3)
				p := newProcess(t, nil, s, nil)
				p.tick()
				session := p.open()
				if worked {
					s.fill(4, 4)
					p.settle(session, p.judge(session, p.next(session)))
				}
				s.err = fmt.Errorf("%w: shop: the position 3 is ahead of the counter. Deliver every row again", poller.ErrAhead)
				if _, err := session.Next(t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20}); !errors.Is(err, poller.ErrGap) {
					t.Fatal(err)
				}
				if err := session.Close(t.Context(), &poller.Report{}); err != nil {
					t.Error(err)
				}
				s.err = nil
				s.fill(5, 6)
				for _, p := range []*process{p, newProcess(t, p.memory, s, nil)} {
					r := p.tick()
					if r.Event != poller.SourceGap || !strings.Contains(r.Err.Error(), "ahead of the counter. Rows that came since") ||
						!strings.Contains(r.Err.Error(), "accept-gap") {
						t.Errorf("%s, %v", r.Event, r.Err)
					}
				}
			})
		})
	}
}

// TestGapOfTheSourceEnds: a gap that the source goes on showing is not recorded: what mends it there ends it.
func TestGapOfTheSourceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 3)
		p := newProcess(t, nil, s, nil)
		p.tick()
		s.err = fmt.Errorf("%w: a trigger is missing", poller.ErrGap)
		if r := p.tick(); r.Event != poller.SourceGap {
			t.Fatalf("%s, %v", r.Event, r.Err)
		}
		s.err = nil
		s.fill(4, 4)
		if r := p.tick(); r.Event != poller.TickComplete {
			t.Errorf("%s, %v", r.Event, r.Err)
		}
	})
}
