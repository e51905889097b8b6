package sim

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// TestRewritesDrawInOrder: where transactions commit at once, no two of them have one cursor value. Else the second row
// may come before the first by its key, and mode none rightly loses it (seed 17130).
func TestRewritesDrawInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands still
		w := &world{rng: rand.New(rand.NewPCG(1, 1)), began: time.Now(), pro: profile{Clock: true},
			names: map[string]string{}, versions: map[string]*version{}}
		w.table = newTable(w)
		low, high := w.table.insert(0), w.table.insert(0)
		w.table.rewrite(low)
		if low.cur.pos().compare(high.cur.pos()) <= 0 {
			t.Errorf("the row written last is at %v, the one before it at %v", low.cur.pos(), high.cur.pos())
		}
	})
}

// TestMayGoBack: by the document, a store's clock that jumped ahead looks like a database's that was set back
// (seed 24687).
func TestMayGoBack(t *testing.T) {
	for _, c := range []struct {
		mode             late.Mode
		clock, shaky, is bool
		jumps            float64
		margin           time.Duration
	}{
		{mode: late.Overlap, clock: true, margin: 3 * time.Second, is: true},
		{mode: late.Overlap, clock: true, shaky: true, is: true},
		{mode: late.Overlap, clock: true},
		{mode: late.Overlap, shaky: true},
		{mode: late.None, clock: true, shaky: true},
		{mode: late.None, clock: true, jumps: 0.1, is: true},
	} {
		w := &world{pro: profile{Clock: c.clock, Jumps: c.jumps, Margin: c.margin}, store: &store{shaky: c.shaky},
			output: &output{}}
		w.doc.Late.Mode = string(c.mode)
		if w.mayGoBack() != c.is {
			t.Errorf("%+v: %v", c, w.mayGoBack())
		}
	}
}

// judged is a world with one output, two versions of rows of one order key, a and b, and nobody else.
func judged() (w *world, a, b change.Event) {
	w = &world{names: map[string]string{}, versions: map[string]*version{}, store: &store{},
		table: &table{incarnation: "life-1"}}
	w.table.w = w
	w.output = &output{doc: state.Document{PollerName: "orders"}, shows: shows{by: map[string][]show{}}}
	w.sink, w.letters, w.human = newSink(w), newLetters(w), &operator{w: w, out: w.output}
	w.set = &settings{ordering: poller.OrderKey}
	made := func(key int) change.Event {
		v := &version{row: &row{key: key}, value: int64(key)}
		v.event = w.table.eventOf(v)
		w.versions[v.event.ID] = v
		return v.event
	}
	return w, made(1), made(2)
}

// shown hands an event out in a session.
func (w *world) shown(e *change.Event, session int) show {
	w.shows.add(e.ID, show{session: session, token: uint64(session), batch: "batch"})
	return w.shows.latest(e.ID, uint64(session), "batch")
}

func TestDeadLetterBroughtAgain(t *testing.T) {
	for _, c := range []struct {
		name                   string
		letter, stored, parked bool
		want                   bool // that it is an inversion
	}{
		{"given up", true, true, false, false},
		{"its dead letter is not stored yet", true, false, false, true},
		{"the document still has it parked", true, true, true, true},
		{"not given up", false, true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, a, b := judged()
			w.shown(&a, 1)
			if c.letter {
				w.letters.written[a.ID] = true
			}
			if c.parked {
				w.parked = []parking.Entry{{OrderKey: a.OrderKey, Key: a.Key, ID: a.ID}}
			}
			if c.stored {
				w.doc.Checkpoint.Cursor = a.Cursor
				w.letters.stored()
			}
			if by := w.sink.plain.add(w, &b, w.shown(&b, 1)); by != "" {
				t.Errorf("b came after %s", by)
			}
			if by := w.sink.plain.add(w, &a, w.shown(&a, 2)); (by == b.ID) != c.want {
				t.Errorf("inverted by %q, want an inversion: %v", by, c.want)
			}
		})
	}
}

func TestProbeBesideAFetchOfARestoredDatabase(t *testing.T) {
	for _, probe := range []bool{true, false} {
		w, a, _ := judged()
		w.doc.Checkpoint.Incarnation = "life-0"
		p := &process{w: w, out: w.output, set: w.set, foreign: map[string]bool{a.ID: true}}
		w.shows.add(a.ID, show{session: 1, token: 1, batch: "batch", probe: probe})
		w.doc.Lease.FencingToken, w.doc.Lease.OwnerID = 1, "app/A1"
		w.begun(&call{p: p, request: &request{life: p, d: change.Delivery{
			Events: []change.Event{a}, Token: 1, Number: 1, BatchID: "batch"}}})
		if broken := w.violation != ""; broken == probe {
			t.Errorf("probe %v: %q", probe, w.violation)
		}
	}
}
