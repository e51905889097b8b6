package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// process is one instance of a poller with its own way to a shared store, whose ticks are driven by hand: what becomes
// of an event is what verdict says.
type process struct {
	t           *testing.T
	feed        *Feed
	keeper      *state.Keeper
	store       *storetest.Faulty
	memory      state.Store
	shop        *shop
	deadLetters *deadLetters
	limit       int
	verdict     func(e *change.Event, kind change.Kind) poller.Outcome
	sent        []sending
}

type sending struct {
	at      time.Time
	kind    change.Kind
	row     int
	text    string
	outcome poller.Outcome
}

// newProcess returns an instance over a store (nil: a new one), accepting everything.
func newProcess(t *testing.T, store state.Store, s *shop, adjust func(*Config)) *process {
	t.Helper()
	if store == nil {
		store = memstore.New()
	}
	p := &process{t: t, store: storetest.NewFaulty(store), memory: store, shop: s, deadLetters: &deadLetters{}, limit: 50}
	p.verdict = func(*change.Event, change.Kind) poller.Outcome { return poller.Accepted }
	var err error
	p.keeper, err = state.New(state.Config{Store: p.store, Key: testKey, Poller: "orders", Owner: "app/test",
		TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		App: "app", Poller: "orders", Source: s, Keeper: p.keeper, Ordering: poller.OrderKey, DeadLetters: p.deadLetters,
		Policy: poller.Policy{MaxAttempts: 5,
			Delays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}, MaxParked: 1000},
		LateWindow: 2 * time.Minute, LateLimit: time.Minute, LateMemory: 1_000_000,
	}
	if adjust != nil {
		adjust(&cfg)
	}
	if p.feed, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

// refusing returns a shop of the rows 1 to n and an instance over it, whose receiver refuses some of the rows until
// they are good.
func refusing(t *testing.T, adjust func(*Config), n int, bad ...int) (*shop, *process) {
	t.Helper()
	s := newShop()
	s.fill(1, n)
	p := newProcess(t, nil, s, adjust)
	p.verdict = poison(bad...)
	return s, p
}

// open begins a session.
func (p *process) open() *session {
	p.t.Helper()
	opened, err := p.feed.Open(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = opened.Close(context.Background(), &poller.Report{}) }) // of a test that fails before it does
	return opened.(*session)
}

// next returns the next batch of a session.
func (p *process) next(s *session) change.Batch {
	p.t.Helper()
	grant, err := s.Next(p.t.Context(), poller.Limit{Rows: p.limit, Bytes: 1 << 20})
	if err != nil {
		p.t.Fatal(err)
	}
	return grant.Batch
}

// judge sends the events of a batch, one after the other, as a tick does: what is parked, or comes after a rejected
// event, is absorbed.
func (p *process) judge(s *session, b change.Batch) poller.Settled {
	settled := poller.Settled{Batch: b, Outcomes: make([]poller.Outcome, len(b.Events)),
		Rejections: map[int]poller.Rejection{}}
	rejected := map[string]bool{}
	for i := range b.Events {
		e := &b.Events[i]
		outcome := poller.Absorbed
		if b.Kind == change.Retry || !s.Parked(e.OrderKey) && !rejected[string(e.OrderKey)] {
			outcome = p.verdict(e, b.Kind)
			p.sent = append(p.sent, sending{time.Now(), b.Kind, idOf(e), textOf(e), outcome})
		}
		settled.Outcomes[i] = outcome
		if outcome == poller.Deferred {
			break
		}
		if outcome == poller.Rejected {
			rejected[string(e.OrderKey)] = s.feed.cfg.Ordering == poller.OrderKey
			settled.Rejections[i] = poller.Rejection{Cause: poller.Refused, Status: 422, Reason: "it is bad", At: time.Now()}
			if s.feed.cfg.Ordering == poller.OrderSource {
				break
			}
		}
	}
	return settled
}

func idOf(e *change.Event) int { return number(string(e.Key), `{"id":`) }

func textOf(e *change.Event) (text string) {
	if _, err := fmt.Sscanf(string(e.Row), `{"text":%q}`, &text); err != nil {
		panic(err)
	}
	return text
}

// settle settles one batch.
func (p *process) settle(s *session, batches ...poller.Settled) int {
	p.t.Helper()
	n, err := s.Settle(p.t.Context(), poller.Settlement{Batches: batches})
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// tick works until there is nothing to do, or a fault.
func (p *process) tick() poller.Report {
	r := poller.Report{Event: poller.TickComplete}
	opened, err := p.feed.Open(p.t.Context())
	if err != nil {
		fail(&r, err, poller.CheckpointLoadFailed)
		return r
	}
	s := opened.(*session)
	for err == nil {
		var grant poller.Grant
		grant, err = s.Next(p.t.Context(), poller.Limit{Rows: p.limit, Bytes: 1 << 20})
		if err != nil || len(grant.Batch.Events) == 0 && !grant.Batch.More {
			break
		}
		if len(grant.Batch.Events) == 0 && grant.Batch.To == nil {
			continue
		}
		settled := p.judge(s, grant.Batch)
		var n int
		n, err = s.Settle(p.t.Context(), poller.Settlement{Batches: []poller.Settled{settled}})
		r.Rows += n
		if err == nil && slices.Contains(settled.Outcomes, poller.Deferred) {
			err = &poller.Fault{Event: poller.HandlerFailed, Err: errors.New("unavailable")}
		}
	}
	if closeErr := s.Close(p.t.Context(), &r); closeErr != nil && err == nil {
		err = closeErr
	}
	if err != nil {
		fail(&r, err, poller.HandlerFailed)
	}
	return r
}

// fail makes a report that of err.
func fail(r *poller.Report, err error, fallback poller.Event) {
	var fault *poller.Fault
	if errors.As(poller.FaultOf(err, fallback), &fault) {
		r.Event, r.Err = fault.Event, fault.Err
	}
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
func (p *process) parked() []parking.Entry {
	p.t.Helper()
	doc := p.doc()
	if doc.Parked.Object == "" {
		return nil
	}
	stored, err := p.memory.Load(p.t.Context(), doc.Parked.Object)
	if err != nil {
		p.t.Fatal(err)
	}
	entries, err := parking.Decode(stored.Data)
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
func (p *process) got(outcome poller.Outcome) []int {
	var rows []int
	for _, s := range p.sent {
		if s.outcome == outcome {
			rows = append(rows, s.row)
		}
	}
	return rows
}

// poison rejects the rows, and accepts the others.
func poison(rows ...int) func(*change.Event, change.Kind) poller.Outcome {
	return func(e *change.Event, _ change.Kind) poller.Outcome {
		if slices.Contains(rows, idOf(e)) && textOf(e) != "good" {
			return poller.Rejected
		}
		return poller.Accepted
	}
}
