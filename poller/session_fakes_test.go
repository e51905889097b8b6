package poller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// shop is a Source over rows in memory that are inserted, updated and deleted. Each write takes the next number as the row's
// cursor.
type shop struct {
	mu       sync.Mutex
	rows     map[int]*shopRow
	writes   int
	describe Description
	life     string
	err      error // of Fetch
	fetched  []Range
}

type shopRow struct {
	id     int
	tenant string
	text   string
	cursor int
}

func newShop() *shop {
	return &shop{rows: map[int]*shopRow{}, describe: Description{Fingerprint: "sha256:shop", Engine: "test", Table: "orders"}}
}

// put inserts or updates a row.
func (s *shop) put(id int, tenant, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	s.rows[id] = &shopRow{id, tenant, text, s.writes}
}

// fill inserts rows, each of a tenant of its own.
func (s *shop) fill(from, to int) {
	for id := from; id <= to; id++ {
		s.put(id, fmt.Sprint("t", id), "new")
	}
}

func (s *shop) remove(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, id)
}

func rowKey(id int) []byte { return fmt.Appendf(nil, `{"id":%d}`, id) }

func (s *shop) event(r *shopRow) change.Event {
	e := change.Event{Key: rowKey(r.id), Row: fmt.Appendf(nil, `{"text":%q}`, r.text), Cursor: position(r.cursor), Time: time.Now()}
	e.OrderKey = e.Key
	if s.describe.Coarse {
		e.OrderKey = fmt.Appendf(nil, `{"tenant":%q}`, r.tenant)
	}
	e.ID = change.EventID("orders", change.Upsert, e.Key, e.Cursor, e.Row)
	return e
}

// sorted returns the rows in the order of the cursor.
func (s *shop) sorted() []*shopRow {
	var rows []*shopRow
	for _, r := range s.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *shopRow) int { return cmp.Compare(a.cursor, b.cursor) })
	return rows
}

func index(c change.Cursor) int {
	n := 0
	if !c.IsStart() {
		if _, err := fmt.Sscanf(string(c), `{"kind":"test","value":%d}`, &n); err != nil {
			panic(err)
		}
	}
	return n
}

func (s *shop) Describe(context.Context) (Description, error) { return s.describe, nil }

func (s *shop) Start(context.Context) (change.Cursor, string, error) { return nil, s.life, nil }

func (s *shop) Fetch(_ context.Context, r Range, limit Limit) (Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return Page{}, s.err
	}
	s.fetched = append(s.fetched, r)
	page := Page{Incarnation: s.life, NullCursors: -1}
	from, end := index(r.After), index(r.UpTo)
	for _, row := range s.sorted() {
		if row.cursor <= from || end > 0 && row.cursor > end {
			continue
		}
		if len(page.Events) == limit.Rows {
			page.More = true
			break
		}
		page.Events = append(page.Events, s.event(row))
	}
	return page, nil
}

func (s *shop) Reread(_ context.Context, keys [][]byte) ([]change.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var events []change.Event
	for _, key := range keys {
		if row := s.rows[idOf(&change.Event{Key: key})]; row != nil {
			events = append(events, s.event(row))
		}
	}
	return events, nil
}

func (s *shop) Other(_ context.Context, after change.Cursor, avoid [][]byte) (*change.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range s.sorted() {
		if e := s.event(row); row.cursor > index(after) && !contains(avoid, e.OrderKey) {
			return &e, nil
		}
	}
	return nil, nil
}

func (s *shop) Horizon(context.Context) (Horizon, error) { return Horizon{Now: time.Now()}, nil }

// graves keeps dead letters in memory.
type graves struct {
	mu      sync.Mutex
	letters []DeadLetter
	put     func(DeadLetter) error // before it is kept
}

func (g *graves) Put(_ context.Context, d DeadLetter) error {
	if g.put != nil {
		if err := g.put(d); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.letters = append(g.letters, d)
	return nil
}

// process is one instance of a poller with its own way to a shared store, whose ticks are driven by hand: what becomes of
// an event is what verdict says.
type process struct {
	t       *testing.T
	feed    *Checkpointed
	keeper  *state.Keeper
	store   *storetest.Faulty
	memory  state.Store
	shop    *shop
	graves  *graves
	limit   int
	verdict func(e *change.Event, kind change.Kind) Outcome
	sent    []sending
}

type sending struct {
	at      time.Time
	kind    change.Kind
	row     int
	text    string
	outcome Outcome
}

// newProcess returns an instance over a store (nil: a new one), accepting everything.
func newProcess(t *testing.T, store state.Store, s *shop, adjust func(*CheckpointedConfig)) *process {
	t.Helper()
	if store == nil {
		store = memstore.New()
	}
	p := &process{t: t, store: storetest.NewFaulty(store), memory: store, shop: s, graves: &graves{}, limit: 50}
	p.verdict = func(*change.Event, change.Kind) Outcome { return Accepted }
	var err error
	p.keeper, err = state.New(state.Config{Store: p.store, Key: testKey, Poller: "orders", Owner: "app/test", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	cfg := CheckpointedConfig{
		App: "app", Poller: "orders", Source: s, Keeper: p.keeper, Ordering: OrderKey, DeadLetters: p.graves,
		Policy:     Policy{MaxAttempts: 5, Delays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}, MaxParked: 1000},
		LateWindow: 2 * time.Minute, LateLimit: time.Minute, LateMemory: 1_000_000,
	}
	if adjust != nil {
		adjust(&cfg)
	}
	if p.feed, err = NewCheckpointed(cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

// open begins a session.
func (p *process) open() *checkpointed {
	p.t.Helper()
	session, err := p.feed.Open(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = session.Close(context.Background(), &Report{}) }) // of a test that fails before it does
	return session.(*checkpointed)
}

// next returns the next batch of a session.
func (p *process) next(s *checkpointed) change.Batch {
	p.t.Helper()
	grant, err := s.Next(p.t.Context(), Limit{Rows: p.limit, Bytes: 1 << 20})
	if err != nil {
		p.t.Fatal(err)
	}
	return grant.Batch
}

// judge sends the events of a batch, one after the other, as a tick does: what is parked, or behind a rejected event, is absorbed.
func (p *process) judge(s *checkpointed, b change.Batch) Settled {
	settled := Settled{Batch: b, Outcomes: make([]Outcome, len(b.Events)), Rejections: map[int]Rejection{}}
	rejected := map[string]bool{}
	for i := range b.Events {
		e := &b.Events[i]
		outcome := Absorbed
		if b.Kind == change.Retry || !s.Parked(e.OrderKey) && !rejected[string(e.OrderKey)] {
			outcome = p.verdict(e, b.Kind)
			p.sent = append(p.sent, sending{time.Now(), b.Kind, idOf(e), textOf(e), outcome})
		}
		settled.Outcomes[i] = outcome
		if outcome == Deferred {
			break
		}
		if outcome == Rejected {
			rejected[string(e.OrderKey)] = s.feed.cfg.Ordering == OrderKey
			settled.Rejections[i] = Rejection{Cause: Refused, Status: 422, Reason: "it is bad", At: time.Now()}
			if s.feed.cfg.Ordering == OrderSource {
				break
			}
		}
	}
	return settled
}

func idOf(e *change.Event) (id int) {
	if _, err := fmt.Sscanf(string(e.Key), `{"id":%d}`, &id); err != nil {
		panic(err)
	}
	return id
}

func textOf(e *change.Event) (text string) {
	if _, err := fmt.Sscanf(string(e.Row), `{"text":%q}`, &text); err != nil {
		panic(err)
	}
	return text
}

// settle settles one batch.
func (p *process) settle(s *checkpointed, batches ...Settled) int {
	p.t.Helper()
	n, err := s.Settle(p.t.Context(), Settlement{Batches: batches})
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// tick works until there is nothing to do, or a fault.
func (p *process) tick() Report {
	r := Report{Event: TickComplete}
	session, err := p.feed.Open(p.t.Context())
	if err != nil {
		r.fail(err, CheckpointLoadFailed)
		return r
	}
	s := session.(*checkpointed)
	for err == nil {
		var grant Grant
		grant, err = s.Next(p.t.Context(), Limit{Rows: p.limit, Bytes: 1 << 20})
		if err != nil || len(grant.Batch.Events) == 0 && !grant.Batch.More {
			break
		}
		if len(grant.Batch.Events) == 0 {
			continue
		}
		settled := p.judge(s, grant.Batch)
		var n int
		n, err = s.Settle(p.t.Context(), Settlement{Batches: []Settled{settled}})
		r.Rows += n
		if err == nil && slices.Contains(settled.Outcomes, Deferred) {
			err = &Fault{HandlerFailed, errors.New("unavailable")}
		}
	}
	if closeErr := s.Close(p.t.Context(), &r); closeErr != nil {
		p.t.Error(closeErr)
	}
	if err != nil {
		r.fail(err, HandlerFailed)
	}
	return r
}

// doc is the document as it is stored, past every failpoint.
func (p *process) doc() state.Document {
	p.t.Helper()
	stored, err := p.memory.Load(p.t.Context(), testKey)
	if err != nil {
		p.t.Fatal(err)
	}
	doc, err := state.Decode(stored.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return doc
}

// parked are the entries as they are stored.
func (p *process) parked() []ParkedEntry {
	p.t.Helper()
	doc := p.doc()
	if doc.Parked.Object == "" {
		return nil
	}
	stored, err := p.memory.Load(p.t.Context(), doc.Parked.Object)
	if err != nil {
		p.t.Fatal(err)
	}
	entries, err := DecodeParked(stored.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	count := 0
	for _, e := range entries {
		count += 1 + len(e.Followers)
	}
	if count != doc.Parked.Count {
		p.t.Errorf("the document counts %d parked, there are %d", doc.Parked.Count, count)
	}
	return entries
}

// objects are the side objects in the store.
func (p *process) objects() []string {
	p.t.Helper()
	names, err := p.memory.List(p.t.Context(), "objects/")
	if err != nil {
		p.t.Fatal(err)
	}
	return names
}

// edit changes the document as an operator does.
func (p *process) edit(change func(*state.Document)) {
	p.t.Helper()
	s, err := p.keeper.Load(p.t.Context())
	if err == nil {
		_, err = p.keeper.Edit(p.t.Context(), s, change)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// got returns the rows that were sent with an outcome, in order.
func (p *process) got(outcome Outcome) []int {
	var rows []int
	for _, s := range p.sent {
		if s.outcome == outcome {
			rows = append(rows, s.row)
		}
	}
	return rows
}

// poison rejects the rows, and accepts the others.
func poison(rows ...int) func(*change.Event, change.Kind) Outcome {
	return func(e *change.Event, _ change.Kind) Outcome {
		if slices.Contains(rows, idOf(e)) && textOf(e) != "good" {
			return Rejected
		}
		return Accepted
	}
}
