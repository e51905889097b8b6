package admin

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// chosen are the dead letters with these ids.
func (f *fixture) chosen(ids ...string) *Chosen {
	f.t.Helper()
	c, err := f.Choose(f.t.Context(), &Choice{IDs: ids})
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *fixture) ids() (ids []string) {
	f.t.Helper()
	found, err := f.Find(f.t.Context(), &Choice{})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range found.Entries {
		ids = append(ids, e.Record.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestReplayParksAndDeletes(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.letter(2)
	f.table.gone[2] = true
	plan, err := f.chosen().Replay(t.Context())
	if err != nil || len(plan.Rows) != 1 || !strings.Contains(plan.What, "1 row(s) will be read again") {
		t.Fatalf("%+v, %v", plan, err)
	}
	refused(t, plan.Kept, "--as-recorded")
	r, err := plan.Apply(t.Context())
	if r.Text != "done: 1" || !errors.Is(err, plan.Kept) {
		t.Errorf("%+v, %v", r, err)
	}
	if got := f.parkedKeys(); !slices.Equal(got, []string{`{"id":1}`}) {
		t.Errorf("parked: %q", got)
	}
	if got := f.ids(); !slices.Equal(got, []string{"e2"}) {
		t.Errorf("dead letters: %q", got)
	}
	f.logged("deadletter_replayed", "id=e1")
}

// A tick that runs before the records are deleted may give a row up again: its record is a newer one, and stays. The
// replay of the others goes on.
func TestReplayOfWhatIsGivenUpAgain(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.letter(2)
	plan, err := f.chosen().Replay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.letter(1)
	r := f.apply(&plan.Plan, nil)
	if r.Text != "done: 2" || r.Count != 2 || len(r.Notes) != 1 ||
		!strings.Contains(r.Notes[0], "e1 was given up again") {
		t.Errorf("%+v", r)
	}
	if got := f.ids(); !slices.Equal(got, []string{"e1"}) {
		t.Errorf("dead letters: %q", got)
	}
}

func TestReplayOfWhatIsNotThere(t *testing.T) {
	f := newFixture(t)
	_, err := f.Choose(t.Context(), &Choice{})
	nothingToDo(t, err, "there are no such dead letters")
	_, err = f.Choose(t.Context(), &Choice{IDs: []string{"e1"}})
	refused(t, err, "rowrelay deadletter list orders")
	_, err = f.Choose(t.Context(), &Choice{IDs: []string{"e1"}, Parked: true})
	refused(t, err, "rowrelay state show orders --json")
	if err := CanReplay("audit"); err != nil {
		t.Error(err)
	}
	refused(t, CanReplay(BackfillPrefix+"history"), "--as-recorded")
}

// A replay hands over as many rows as max_parked lets in, says how many are left, and goes on where it ended when it is
// run again. A row that is parked already has its place.
func TestReplayOfTooMany(t *testing.T) {
	f := newFixture(t)
	f.parks(parking.Entry{OrderKey: keyOf(5), Key: keyOf(5), Cursor: at(5), ID: "e5", Attempts: 5, Blocked: true})
	for n := range 5 {
		f.letter(n + 1)
	}
	plan, err := f.chosen().Replay(t.Context())
	if err != nil || !strings.Contains(plan.What, "3 row(s) will be read again") {
		t.Fatalf("%+v, %v", plan, err)
	}
	refused(t, plan.Kept, "raise max_parked")
	r, err := plan.Apply(t.Context())
	if r.Text != "done: 3" || !errors.Is(err, plan.Kept) || !strings.Contains(err.Error(), "2 of 5 dead letter(s) are kept") {
		t.Errorf("%+v, %v", r, err)
	}
	if got := f.parkedKeys(); !slices.Equal(got, []string{`{"id":5}`, `{"id":1}`, `{"id":2}`}) {
		t.Errorf("parked: %q", got)
	}
	if got := f.ids(); !slices.Equal(got, []string{"e3", "e4"}) {
		t.Errorf("dead letters: %q", got)
	}
	_, err = f.chosen().Replay(t.Context())
	refused(t, err, "raise max_parked")

	f.parks() // those are delivered
	plan, err = f.chosen().Replay(t.Context())
	if err != nil || plan.Kept != nil {
		t.Fatalf("%+v, %v", plan, err)
	}
	f.apply(&plan.Plan, nil)
	if got := f.ids(); len(got) != 0 {
		t.Errorf("dead letters: %q", got)
	}
}

// A row that cannot be read as an event keeps its record, and does not keep the others from being replayed.
func TestReplayBesideARowThatCannotBeRead(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.letter(2)
	f.table.unreadable = 1
	plan, err := f.chosen().Replay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused(t, plan.Kept, "--as-recorded")
	if _, err := plan.Apply(t.Context()); !errors.Is(err, plan.Kept) {
		t.Error(err)
	}
	if got := f.parkedKeys(); !slices.Equal(got, []string{`{"id":2}`}) {
		t.Errorf("parked: %q", got)
	}
}

// Whoever loses the race against a busy poller is told how to win it.
func TestReplayWhileATickIsAtWork(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	plan, err := f.chosen().Replay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lease := f.held()
	_, err = plan.Apply(t.Context())
	refused(t, err, "rowrelay state pause orders")
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = plan.Apply(t.Context())
	refused(t, err, "rowrelay state pause orders")
	if !errors.Is(err, state.ErrConflict) {
		t.Errorf("the document has moved: %v", err)
	}
}

// The page's replay pauses the tick at work, and leaves the poller as it was.
func TestReplayNowPausesATickAtWork(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	lease := f.held()
	go func() { // the tick at work, which looks for a pause between two batches
		for t.Context().Err() == nil {
			if snap, err := f.Keeper.Load(t.Context()); err == nil && snap.Doc.Paused != nil {
				_ = lease.Release(t.Context())
				return
			}
		}
	}()
	if r, err := f.ReplayNow(t.Context(), []string{"e1"}, nil, nil); err != nil || r.Text != "done: 1" {
		t.Fatalf("%+v, %v", r, err)
	}
	if p := f.doc().Paused; p != nil {
		t.Errorf("it is left paused: %+v", p)
	}
	f.logged("paused", `for="a replay"`)
	f.logged("resumed", `after="a replay"`)
}

// A replay for which the lease is not given back does nothing, and leaves the poller as it was.
func TestReplayNowInVain(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	const stopped = "told to stop"
	for name, c := range map[string]struct {
		before, after *state.Paused
		says          string
	}{
		"not paused": {nil, nil, stopped},
		"paused":     {&state.Paused{At: now, By: "bob"}, &state.Paused{At: now, By: "bob"}, stopped},
		"by a replay that died": {&state.Paused{At: now, Until: now.Add(-time.Second), By: "bob" + forReplay}, nil,
			stopped},
		"by a replay under way": {&state.Paused{At: now, Until: now.Add(time.Minute), By: "bob" + forReplay},
			&state.Paused{At: now, Until: now.Add(time.Minute), By: "bob" + forReplay}, "is under way, by bob"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.letter(1)
			f.held()
			f.pausedBy(c.before)
			stop := make(chan struct{})
			close(stop)
			if _, err := f.ReplayNow(t.Context(), []string{"e1"}, stop, errors.New(stopped)); err == nil ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if p := f.doc().Paused; (p == nil) != (c.after == nil) ||
				p != nil && (p.By != c.after.By || !p.Until.Equal(c.after.Until)) || len(f.ids()) != 1 {
				t.Errorf("paused: %+v, dead letters %q", p, f.ids())
			}
		})
	}
}

// Who pauses while a replay has the poller paused is not told that it is paused already, only for the replay's end to
// let it go on.
func TestPauseDuringAReplay(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.held()
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := f.document(f.Store, "orders").ReplayNow(t.Context(), []string{"e1"}, stop, errors.New("told to stop"))
		ended <- err
	}()
	for f.doc().Paused == nil {
		runtime.Gosched()
	}
	f.apply(f.Pause(t.Context()))
	close(stop)
	if err := <-ended; err == nil {
		t.Error("the replay says that it was done")
	}
	if p := f.doc().Paused; p == nil || p.By != "ann" {
		t.Errorf("paused: %+v", p)
	}
}

// What a replay stores outlasts the clean-up of the tick before it, in another process or in this one. Otherwise the
// poller would stop at a missing object, and the records would be gone.
func TestReplayWhileATickTidiesUp(t *testing.T) {
	for name, same := range map[string]bool{"another process": false, "the status page's own": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			tick := f.Keeper
			if !same {
				tick = f.document(f.Store, "orders").Keeper
			}
			for range 40 {
				f.letter(2)
				tidied(t, tick, func() {
					plan, err := f.chosen("e2").Replay(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					f.apply(&plan.Plan, nil)
				})
				if keys := f.parkedKeys(); len(keys) != 1 {
					t.Fatalf("the replay was done, and it stored %q", keys)
				}
			}
		})
	}
}

// tidied runs while a tick that has given its lease back still removes the objects that nobody names any more.
func tidied(t *testing.T, k *state.Keeper, do func()) {
	t.Helper()
	snap, err := k.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lease, err := k.Acquire(t.Context(), snap)
	if err == nil {
		err = lease.Release(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	tidying, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tidying.Err() == nil {
			_ = lease.Collect(tidying) // it is stopped in the middle
		}
	}()
	defer func() { stop(); <-ended }()
	do()
}

// A key that is blocked by one event of a row is not freed with an older dead letter of that row: what waits behind the
// newer one would overtake it. A replay that died before it deleted its records leaves such dead letters, too.
func TestAnOlderDeadLetterDoesNotFreeTheKey(t *testing.T) {
	for name, act := range map[string]func(*fixture, *Chosen) (*Plan, error){
		"purged": func(_ *fixture, c *Chosen) (*Plan, error) { return c.Purge() },
		"sent as recorded": func(_ *fixture, c *Chosen) (*Plan, error) {
			return c.Resend(func() (poller.Output, error) { return &receiver{}, nil }, time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.letter(1)
			f.parks(parking.Entry{ID: "newer", Key: keyOf(1), OrderKey: keyOf(1), Blocked: true, Followers: rawKeys(2)})
			f.apply(act(f, f.chosen("e1")))
			if got := f.parkedKeys(); !slices.Equal(got, []string{`{"id":1}`, `{"id":2}`}) {
				t.Errorf("parked: %q", got)
			}
			if got := f.ids(); len(got) > 0 {
				t.Errorf("dead letters: %q", got)
			}
			f.apply(f.chosen("newer").Purge()) // by what stands in for its record
			if got := f.parkedKeys(); !slices.Equal(got, []string{`{"id":2}`}) {
				t.Errorf("parked: %q", got)
			}
		})
	}
}

// receiver takes events until one is wrong.
type receiver struct {
	wrong string
	took  []string
}

func (r *receiver) Deliver(_ context.Context, d change.Delivery) error {
	if d.Events[0].ID == r.wrong {
		return errors.New("no")
	}
	r.took = append(r.took, d.Events[0].ID)
	return nil
}

func TestResendStopsAtTheFirstThatFails(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.letter(2)
	to := &receiver{wrong: "e2"}
	p, err := f.chosen("e1", "e2").Resend(func() (poller.Output, error) { return to, nil }, time.Minute)
	if err != nil || !strings.Contains(p.What, "BREAKS THE ORDER") {
		t.Fatalf("%+v, %v", p, err)
	}
	if r, err := p.Apply(t.Context()); r.Text != "done: 1" || err == nil ||
		!strings.Contains(err.Error(), "sending e2: no") {
		t.Errorf("%+v, %v", r, err)
	}
	if got := f.ids(); !slices.Equal(to.took, []string{"e1"}) || !slices.Equal(got, []string{"e2"}) {
		t.Errorf("sent %q, left %q", to.took, got)
	}
	f.logged("deadletter_sent_as_recorded", "id=e1")
}

// Those of all dead letters may be more than fits into memory: rows are read where they are asked for.
func TestFindReadsRowsWhereTheyAreWanted(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	for rows, c := range map[bool]*Choice{false: {}, true: {Rows: true}} {
		found, err := f.Find(t.Context(), c)
		if err != nil || len(found.Entries) != 1 || found.Entries[0].Record.Row != nil != rows {
			t.Errorf("wanted %t: %+v, %v", rows, found.Entries, err)
		}
	}
}
