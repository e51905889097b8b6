package checkpointed

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// TestAPauseOfADeadReplayEnds: at its time, by the store's clock, the next tick takes it out of the document, says so
// once, and goes on. A tick at work when it was set gives its lease back at once.
func TestAPauseOfADeadReplayEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.tick()
		s.fill(2, 2)
		session := p.open()
		p.next(session)
		p.amend(func(d *state.Document) {
			d.Paused = &state.Paused{At: time.Now(), Until: time.Now().Add(time.Minute), By: "ann, for a replay"}
		})
		time.Sleep(time.Second)
		if _, err := session.Next(t.Context(), poller.Limit{Rows: 2, Bytes: 1 << 20}); err == nil ||
			!strings.Contains(err.Error(), "paused by ann, for a replay") {
			t.Errorf("the tick at work: %v", err)
		}
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(58 * time.Second)
		if r := p.tick(); r.Event != poller.Paused || len(r.Warnings) > 0 {
			t.Errorf("a second before its end: %s, %q", r.Event, r.Warnings)
		}
		time.Sleep(time.Second)
		r := p.tick()
		if r.Event != poller.TickComplete || r.Rows != 1 || len(r.Warnings) != 1 ||
			!strings.Contains(r.Warnings[0], "resumed, after a replay whose process ended") ||
			!strings.Contains(r.Warnings[0], "by ann, for a replay since") {
			t.Errorf("at its end: %s, %d rows, %q", r.Event, r.Rows, r.Warnings)
		}
		if d := p.doc(); d.Paused != nil {
			t.Errorf("the document still has %+v", d.Paused)
		}
		if r := p.tick(); r.Event == poller.Paused || len(r.Warnings) > 0 {
			t.Errorf("the next tick: %s, %q", r.Event, r.Warnings)
		}
	})
}

// TestAPauseWhileTheDestinationIsLeftAlone: a paused poller reports that it is paused.
func TestAPauseWhileTheDestinationIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 9)
		p := newProcess(t, nil, s, nil)
		to := newDestination(func(int) int { return 429 })
		to.again = time.Minute
		relay := p.ticking(to)
		if r := relay.Tick(t.Context()); r.Event != poller.HandlerFailed {
			t.Fatalf("%s: %v", r.Event, r.Err)
		}
		if r := relay.Tick(t.Context()); r.Event != poller.HandlerFailed || r.Reason != "unavailable" || !r.DocumentRead ||
			!strings.Contains(r.Err.Error(), "Retry-After") {
			t.Errorf("while it is left alone: %+v", r)
		}
		p.amend(func(d *state.Document) { d.Paused = &state.Paused{At: time.Now(), By: "ann"} })
		if r := relay.Tick(t.Context()); r.Event != poller.Paused || !strings.Contains(r.Err.Error(), "paused by ann") {
			t.Errorf("while it is paused: %s: %v", r.Event, r.Err)
		}
	})
}

// TestAPauseThatIsOverAndCannotBeTakenOut: the tick fails, and says what it was about.
func TestAPauseThatIsOverAndCannotBeTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t, nil, newShop(), nil)
		p.tick()
		p.amend(func(d *state.Document) { d.Paused = &state.Paused{By: "ann", Until: time.Now().Add(-time.Second)} })
		p.store.Plan(func(op storetest.Op) (storetest.Fault, int) {
			if op == storetest.Replace {
				return storetest.NotDone, -1
			}
			return storetest.None, 0
		})
		if r := p.tick(); r.Event != poller.CheckpointLoadFailed ||
			!strings.Contains(r.Err.Error(), "ending a pause that is over") {
			t.Errorf("%s: %v", r.Event, r.Err)
		}
	})
}
