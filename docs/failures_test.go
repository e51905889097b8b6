package docs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

var updateFailures = flag.Bool("update-failures", false, "write the table of docs/failures.md")

// step is one call that a tick makes to something outside itself.
type step string

const (
	readDocument   step = "read the state document"
	createDocument step = "create the state document"
	fetchRows      step = "fetch rows"
	takeLease      step = "take the lease"
	deliver        step = "deliver a request"
	writeLetter    step = "write the dead letter"
	writeParked    step = "write the object of parked events"
	writeMemory    step = "write the memory of late commits"
	commit         step = "commit, and release the lease"
	deleteObject   step = "delete an object that is no longer named"
)

var steps = []step{readDocument, createDocument, fetchRows, takeLease, deliver, writeLetter, writeParked, writeMemory, commit, deleteObject}

// way is a way for a call to fail: whether it has its effect, and whether its caller lives to hear of it.
type way struct {
	name    string
	done    bool // the call has its effect at once …
	later   bool // … or after its caller was told that it failed
	crashed bool // the process dies in the middle of it: no later call of it has an effect
}

var ways = []way{
	{name: "fails, not done"},
	{name: "fails, but done", done: true},
	{name: "fails, done later", later: true},
	{name: "crash, not done", crashed: true},
	{name: "crash, done", crashed: true, done: true},
	{name: "crash, done later", crashed: true, later: true},
}

// TestFailuresTable: every step × every way to fail × what the next owner does, as docs/failures.md shows it. Whatever
// fails, nothing is lost.
func TestFailuresTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| step | it … | the tick ends as | the next owner works | delivered again | lost |\n|---|---|---|---|---|---|\n")
	for _, s := range steps {
		for _, w := range ways {
			if (s == readDocument || s == fetchRows) && (w.done || w.later) {
				continue // a read has no effect
			}
			var row string
			synctest.Test(t, func(t *testing.T) { row = happen(t, s, w) })
			table.WriteString(row)
		}
	}
	const begin, end = "<!-- begin: TestFailuresTable -->\n", "<!-- end: TestFailuresTable -->"
	text, err := os.ReadFile("failures.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("failures.md has no place for the table")
	}
	if shown == table.String() {
		return
	}
	if !*updateFailures {
		t.Fatalf("failures.md is not what happens; go test ./docs -run FailuresTable -update-failures. Now:\n%s", table.String())
	}
	if err := os.WriteFile("failures.md", []byte(before+begin+table.String()+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// happen lets one step fail in one way, lets the next owner work until all is settled, and tells what was seen.
func happen(t *testing.T, s step, w way) string {
	stage := &stage{store: memstore.New(), step: s, way: w, effects: map[string]int{}, letters: map[string]int{}}
	stage.rows = []string{"a", "b", "c"}
	attempts := 5
	switch s {
	case writeLetter:
		stage.bad, attempts = "b", 1 // the first refusal is the last
	case writeParked, deleteObject:
		stage.bad, attempts = "b", 2
	case writeMemory:
		stage.late = poller.LateOverlap
	}
	if s != createDocument {
		stage.seed(t)
	}
	first := stage.instance(t, true, attempts)
	if s == deleteObject {
		// The first tick parks; the object that it wrote is replaced when the event is given up.
		stage.armed = false
		first.Tick(t.Context())
		time.Sleep(5 * time.Second)
		stage.armed = true
	}
	ended := "–"
	if w.crashed {
		go first.Tick(t.Context()) // what it does from the crash on has no effect
		synctest.Wait()
	} else {
		report := first.Tick(t.Context())
		ended = string(report.Event)
	}
	if !stage.hit {
		t.Fatalf("%s (%s) was not reached", s, w.name)
	}
	died := time.Now()
	next := stage.instance(t, false, attempts)
	works := "there is nothing left to do"
	for tries := 0; ; tries++ {
		if tries == 600 {
			t.Fatalf("%s (%s): not settled after ten minutes: %v", s, w.name, stage.effects)
		}
		r := next.Tick(t.Context())
		if r.Token > 0 && stage.pending != nil {
			stage.pending() // what was under way lands after another has worked
			stage.pending = nil
		}
		if r.Token > 0 && works == "there is nothing left to do" {
			works = "at once"
			switch took := time.Since(died).Round(time.Second); {
			case took >= 30*time.Second:
				works = fmt.Sprintf("after %s, when the lease has expired", took)
			case took > 0:
				works = fmt.Sprintf("after %s, when the retry is due", took)
			}
		}
		if stage.settled() && r.Event == poller.FetchEmpty && r.Parked <= 0 {
			break
		}
		time.Sleep(time.Second)
	}
	if stage.pending != nil {
		stage.pending()
	}
	time.Sleep(5 * time.Minute) // what the dead one still has under way comes to its end
	again, lost := []string{}, []string{}
	for _, row := range stage.rows {
		switch n := stage.effects[row]; {
		case n > 1:
			again = append(again, row)
		case n == 0 && stage.letters[row] == 0:
			lost = append(lost, row)
		}
		if stage.letters[row] > 0 && row != stage.bad {
			t.Errorf("%s (%s): row %s was dead-lettered", s, w.name, row)
		}
	}
	if len(lost) > 0 {
		t.Errorf("%s (%s): lost %v", s, w.name, lost)
	}
	if n := stage.letters[stage.bad]; n > 1 {
		again = append(again, fmt.Sprintf("the dead letter (%d writes of one record)", n))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | nothing |\n", s, w.name, ended, works, orNothing(again))
}

func orNothing(list []string) string {
	switch len(list) {
	case 0:
		return "nothing"
	case 3:
		return "all of the batch"
	}
	return strings.Join(list, ", ")
}

// stage is a store, a source, an output and a place for dead letters, one of whose calls fails once.
type stage struct {
	mu    sync.Mutex
	store *memstore.Store
	step  step
	way   way
	bad   string // the row that the destination refuses
	late  poller.LateCommits
	rows  []string

	armed, hit, crashed bool
	pending             func() // what happens later
	effects, letters    map[string]int
}

var errStep = errors.New("it failed")

// call makes one call of the first instance to the outside.
func (st *stage) call(first bool, s step, do func() error) error {
	st.mu.Lock()
	if first && st.crashed {
		st.mu.Unlock()
		return errStep
	}
	if !first || !st.armed || s != st.step {
		st.mu.Unlock()
		return do()
	}
	st.armed, st.hit, st.crashed = false, true, st.way.crashed
	if st.way.later {
		st.pending = func() { _ = do() } // its condition may not hold any more
	}
	st.mu.Unlock()
	if st.way.done {
		if err := do(); err != nil {
			return err
		}
	}
	return errStep
}

// settled reports whether every row has arrived, or was given up.
func (st *stage) settled() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, row := range st.rows {
		if st.effects[row] == 0 && st.letters[row] == 0 {
			return false
		}
	}
	return true
}

const failuresKey = "state/app/orders.json"

func (st *stage) keeper(t *testing.T, first bool) *state.Keeper {
	t.Helper()
	keeper, err := state.New(state.Config{
		Store: &stageStore{Store: st.store, stage: st, first: first}, Key: failuresKey, Poller: "orders", Owner: "app/test", TTL: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

// seed writes the first document.
func (st *stage) seed(t *testing.T) {
	t.Helper()
	if _, err := st.keeper(t, false).Create(t.Context(), "sha256:rows", "", nil); err != nil {
		t.Fatal(err)
	}
}

func (st *stage) instance(t *testing.T, first bool, attempts int) *poller.Relay {
	t.Helper()
	st.armed = first
	end := &stageEnd{stage: st, first: first}
	feed, err := poller.NewCheckpointed(poller.CheckpointedConfig{
		App: "app", Poller: "orders", Source: end, Keeper: st.keeper(t, first), Ordering: poller.OrderKey, DeadLetters: end,
		Policy:     poller.Policy{MaxAttempts: attempts, Delays: []time.Duration{time.Second}, MaxParked: 100},
		LateWindow: 2 * time.Minute, LateLimit: time.Minute, LateMemory: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	relay, err := poller.NewRelay(poller.Config{
		App: "app", Poller: "orders", Feed: feed, To: end, Ordering: poller.OrderKey, Concurrency: 1,
		Fetch: poller.Limit{Rows: 10, Bytes: 1 << 20}, RequestEvents: 10, RequestBytes: 1 << 20, RejectStatus: []int{422},
		Size: func(e *change.Event) int { return e.Size() }, Retries: 1, Timeout: 10 * time.Second, Budget: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return relay
}

// stageStore knows which step a call to the store is.
type stageStore struct {
	state.Store
	stage *stage
	first bool
}

func (s *stageStore) Load(ctx context.Context, key string) (stored state.Stored, err error) {
	if !strings.HasPrefix(key, "state/") {
		return s.Store.Load(ctx, key)
	}
	err = s.stage.call(s.first, readDocument, func() error { stored, err = s.Store.Load(ctx, key); return err })
	return stored, err
}

func (s *stageStore) Create(ctx context.Context, key string, data []byte) (stamp state.Stamp, err error) {
	at := createDocument
	switch {
	case strings.Contains(key, "/parked-"):
		at = writeParked
	case strings.Contains(key, "/memory-"):
		at = writeMemory
	}
	err = s.stage.call(s.first, at, func() error {
		stamp, err = s.Store.Create(context.WithoutCancel(ctx), key, data)
		return err
	})
	return stamp, err
}

func (s *stageStore) Replace(ctx context.Context, key string, data []byte, version string) (stamp state.Stamp, err error) {
	at := takeLease
	if doc, decodeErr := state.Decode(data); decodeErr == nil && (doc.Lease.OwnerID == "" || doc.Lease.WriteSeq > 1) {
		at = commit
	}
	err = s.stage.call(s.first, at, func() error {
		stamp, err = s.Store.Replace(context.WithoutCancel(ctx), key, data, version)
		return err
	})
	return stamp, err
}

func (s *stageStore) Delete(ctx context.Context, key, version string) error {
	return s.stage.call(s.first, deleteObject, func() error { return s.Store.Delete(context.WithoutCancel(ctx), key, version) })
}

// stageEnd is an instance's source, output and dead letters.
type stageEnd struct {
	stage *stage
	first bool
}

func (e *stageEnd) Describe(context.Context) (poller.Description, error) {
	late := e.stage.late
	if late == "" {
		late = poller.LateNone
	}
	return poller.Description{Fingerprint: "sha256:rows", Engine: "test", Table: "rows", Late: late}, nil
}

func (e *stageEnd) Start(context.Context) (change.Cursor, string, error) { return nil, "", nil }

func (e *stageEnd) Horizon(context.Context) (poller.Horizon, error) {
	return poller.Horizon{Now: time.Now()}, nil
}

func (e *stageEnd) event(i int) change.Event {
	row := e.stage.rows[i]
	key := fmt.Appendf(nil, `{"id":%q}`, row)
	return change.Event{ID: row, Key: key, OrderKey: key, Row: key, Cursor: change.Cursor(fmt.Sprintf(`{"kind":"test","value":%d}`, i+1)), Time: time.Now()}
}

func at(c change.Cursor) (n int) {
	if !c.IsStart() {
		if _, err := fmt.Sscanf(string(c), `{"kind":"test","value":%d}`, &n); err != nil {
			panic(err)
		}
	}
	return n
}

func (e *stageEnd) Fetch(_ context.Context, r poller.Range, limit poller.Limit) (page poller.Page, err error) {
	err = e.stage.call(e.first, fetchRows, func() error {
		page = poller.Page{NullCursors: -1}
		end := len(e.stage.rows)
		if !r.UpTo.IsStart() {
			end = at(r.UpTo)
		}
		for i := at(r.After); i < end && len(page.Events) < limit.Rows; i++ {
			page.Events = append(page.Events, e.event(i))
		}
		return nil
	})
	return page, err
}

func (e *stageEnd) Reread(_ context.Context, keys [][]byte) (events []change.Event, err error) {
	for i := range e.stage.rows {
		if event := e.event(i); slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(event.Key) }) {
			events = append(events, event)
		}
	}
	return events, nil
}

func (e *stageEnd) Other(context.Context, change.Cursor, [][]byte) (*change.Event, error) {
	return nil, nil
} //nolint:nilnil // no other row

func (e *stageEnd) Deliver(_ context.Context, d change.Delivery) error {
	return e.stage.call(e.first, deliver, func() error {
		e.stage.mu.Lock()
		defer e.stage.mu.Unlock()
		for i := range d.Events {
			if d.Events[i].ID == e.stage.bad {
				return poller.FailAll(len(d.Events), poller.Refused, 422, errors.New("422"))
			}
		}
		for i := range d.Events {
			e.stage.effects[d.Events[i].ID]++
		}
		return nil
	})
}

func (e *stageEnd) Put(_ context.Context, d poller.DeadLetter) error {
	return e.stage.call(e.first, writeLetter, func() error {
		e.stage.mu.Lock()
		defer e.stage.mu.Unlock()
		e.stage.letters[d.Event.ID]++
		return nil
	})
}
