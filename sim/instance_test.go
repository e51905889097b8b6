package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// ending is the call by which a tick reports.
const ending = "tick ends"

// process is one life of one instance: after a crash its goroutines wait at the gate until the end of the run, and
// nothing that they ask for has an effect.
type process struct {
	w      *world
	out    *output
	slot   int
	serial int // of all lives, and of operators
	name   string
	relay  *poller.Relay
	ctx    context.Context //nolint:containedctx // its life
	kill   context.CancelFunc
	stop   context.CancelFunc // of the tick that runs
	busy   bool
	dead   bool
	human  bool
	until  time.Time // the next tick, once faults have stopped

	set    *settings
	read   []reading  // of the database's clock, since the last one that is stored
	reads  sync.Mutex // guards read: a process appends when its reading is back, while the judge may look
	intent func()     // what a command is about, done when it writes the document

	began   time.Time       // its tick
	at      uint64          // the fencing token at that time
	excused bool            // the store failed it in this tick, other than by hiding what it had done
	paused  bool            // its tick began under a pause
	native  map[string]bool // events that it has in this tick from the database that the checkpoint is of
	foreign map[string]bool // events that it has from a restored database only

	frozenUntil time.Time    // under w.mu
	check       func() error // of the last grant; under w.mu
	token       uint64       // of the last grant; under w.mu
}

// newProcess starts an instance. It does nothing until its first tick.
func (w *world) newProcess(slot int) *process {
	w.serials++
	p := &process{w: w, out: w.outputOf(slot), slot: slot, serial: w.serials,
		name: fmt.Sprintf("%c%d", 'A'+slot, w.serials)}
	p.foreign, p.native = map[string]bool{}, map[string]bool{}
	w.lives = append(w.lives, p)
	p.ctx, p.kill = context.WithCancel(context.Background())
	pro := &w.pro
	keeper := p.keeper()
	p.set = w.set
	feed, err := checkpointed.New(checkpointed.Config{
		App: "app", Poller: "orders", Output: p.out.name, Source: sourceOf{p}, Keeper: keeper, Ordering: p.set.ordering,
		Policy:      p.set.policy,
		DeadLetters: lettersOf{p}, LateWindow: pro.Window, LateLimit: pro.LateLimit, LateMemory: pro.LateMemory,
		Wait:       pro.Wait,
		FutureRows: pro.FutureRows, Snapshot: pro.Snapshot, Resync: pro.Resync,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p.relay, err = poller.NewRelay(poller.Config{
		App: "app", Poller: "orders", Output: p.out.name, Feed: feedOf{p, feed}, To: sinkOf{p}, Ordering: p.set.ordering,
		Concurrency: pro.Parallel,
		Fetch:       poller.Limit{Rows: pro.Rows, Bytes: 1 << 20}, FetchMost: pro.FetchMost,
		RequestEvents: pro.RequestEvents, RequestBytes: 1 << 20, KeyEvents: pro.KeyEvents,
		Size: func(e *change.Event) int { return e.Size() }, RejectStatus: rejectStatus, Retries: pro.Retries,
		Timeout: pro.Timeout, Budget: pro.Budget, PollInterval: pro.Poll, MaxBatches: pro.MaxBatches,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.say(p.name, "starts")
	return p
}

func (p *process) keeper() *state.Keeper {
	keeper, err := state.New(state.Config{
		Store: storeOf{p}, Key: p.out.key, Poller: "orders", Owner: "app/" + p.name, TTL: p.w.pro.TTL,
	})
	if err != nil {
		p.w.t.Fatal(err)
	}
	return keeper
}

// tick begins a tick.
func (p *process) tick() {
	w := p.w
	w.about(p.out)
	w.tally.Ticks++
	w.say(p.name, "tick begins")
	p.busy, p.began, p.at, p.excused = true, time.Now(), w.doc.Lease.FencingToken, false
	p.paused = w.doc.Paused != nil
	clear(p.native)
	var ctx context.Context
	ctx, p.stop = context.WithCancel(p.ctx)
	go func() {
		report := p.relay.Tick(ctx)
		p.ask(context.Background(), &call{what: ending, resolve: func(*call) bool {
			p.busy = false
			w.ticked(p, &report)
			return true
		}})
	}()
}

// tickSome begins a tick of an instance that has none, or stops one, or starts an instance anew.
func (w *world) tickSome() {
	i := w.rng.IntN(len(w.slots))
	p := w.slots[i]
	switch {
	case p.dead:
		w.slots[i] = w.newProcess(i)
	case time.Now().Before(p.frozenUntil):
	case w.chance(0.5) && w.update(i):
	case !p.busy:
		p.tick()
	case w.chance(0.03) && !w.pro.Once: // a stop in the middle of a batch costs the rest of it (docs/duplicates.md)
		w.say(p.name, "is asked to stop")
		p.stop()
	}
}

// tickDue begins the ticks that are due, once faults have stopped.
func (w *world) tickDue() {
	for i, p := range w.slots {
		if w.update(i) {
			p = w.slots[i]
		}
		if !p.busy && !time.Now().Before(p.until) {
			p.until = time.Now().Add(w.span(time.Second, 6*time.Second))
			if w.siege {
				p.until = time.Now().Add(w.span(5*time.Second, 15*time.Second))
			}
			p.tick()
		}
	}
}

// crashSome ends an instance's life, wherever it is.
func (w *world) crashSome() {
	p := w.slots[w.rng.IntN(len(w.slots))]
	if !p.dead && p.busy {
		w.crash(p, nil)
	}
}

// crashAt ends an instance's life at a call: before it, after its effect, or while it is on its way.
func (w *world) crashAt(c *call) { w.crash(c.p, c) }

func (w *world) crash(p *process, at *call) {
	w.tally.Crashes++
	for _, o := range p.instance() {
		if !o.dead {
			w.die(o, at)
		}
	}
}

func (w *world) die(p *process, at *call) {
	w.about(p.out)
	if p.human {
		w.human.busy = false
	}
	p.dead = true
	w.say(p.name, "crashes")
	for _, c := range w.waiting {
		if c.p != p || c.wire == nil || c.effected || c.gaveUp {
			continue
		}
		switch n := w.rng.IntN(3); {
		case n == 0 && c == at:
			w.say("~", "its %s %s has had its effect", c.what, w.store.short(c.arg))
			c.wire()
		case n < 2:
			w.say("~", "its %s %s is still on its way", c.what, w.store.short(c.arg))
			w.later(p.name+" "+c.what+" "+w.store.short(c.arg), c.wire)
		}
	}
}

// freezeSome stops an instance for a while (SIGSTOP): it gets no answers, and learns late that its contexts have ended.
func (w *world) freezeSome() {
	p := w.slots[w.rng.IntN(len(w.slots))]
	if p.dead || !p.busy || time.Now().Before(p.frozenUntil) {
		return
	}
	w.tally.Freezes++
	d := w.span(w.pro.TTL/4, 2*w.pro.TTL)
	w.say(p.name, "freezes for %s", d)
	w.mu.Lock()
	for _, o := range p.instance() {
		o.excused, o.frozenUntil = true, time.Now().Add(d)
	}
	w.mu.Unlock()
}

func (p *process) thaw() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.frozenUntil = time.Time{}
}

// sleepFrozen waits as long as a timer of a frozen process is late: until it goes on, and some more.
func (p *process) sleepFrozen() {
	for {
		p.w.mu.Lock()
		left := time.Until(p.frozenUntil)
		p.w.mu.Unlock()
		if left <= 0 {
			return
		}
		time.Sleep(left + 500*time.Millisecond)
	}
}

// feedOf is an instance's feed, with an eye on what its sessions hand out.
type feedOf struct {
	p *process
	poller.Feed
}

// Open implements poller.Feed.
func (f feedOf) Open(ctx context.Context) (poller.Session, error) {
	s, err := f.Feed.Open(ctx)
	if err != nil {
		return nil, err
	}
	f.p.w.mu.Lock()
	defer f.p.w.mu.Unlock()
	return &session{Session: s, p: f.p, id: f.p.out.shows.session()}, nil
}

// session notes what was shown in which order, and lets a frozen process learn late that its right has ended.
type session struct {
	poller.Session
	p     *process
	id    int
	right context.Context //nolint:containedctx // that of the last grant
	late  context.Context //nolint:containedctx // the same, as a frozen process sees it
}

// Next implements poller.Session.
func (s *session) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	g, err := s.Session.Next(ctx, limit)
	return s.granted(g, false), err
}

// Other implements poller.Session.
func (s *session) Other(ctx context.Context, avoid [][]byte) (poller.Grant, error) {
	g, err := s.Session.Other(ctx, avoid)
	return s.granted(g, true), err
}

func (s *session) granted(g poller.Grant, probe bool) poller.Grant {
	if len(g.Batch.Events) == 0 || g.Context == nil {
		return g
	}
	w, p := s.p.w, s.p
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range g.Batch.Events {
		p.out.shows.add(g.Batch.Events[i].ID,
			show{session: s.id, token: g.Token, batch: g.Batch.ID, kind: g.Batch.Kind, probe: probe, ordering: p.set.ordering,
				all: p.set.ordering == poller.OrderSource && w.pro.Whole})
	}
	p.check, p.token = g.Check, g.Token
	if s.right != g.Context {
		s.right = g.Context
		ends := g.Context
		right, cancel := context.WithCancelCause(context.WithoutCancel(ends))
		s.late = right
		context.AfterFunc(ends, func() {
			p.sleepFrozen()
			cancel(context.Cause(ends))
		})
	}
	g.Context = s.late
	return g
}

// shows is what sources showed, in the order in which sessions handed it out. They are under world.mu.
type shows struct {
	seq, sessions int
	restored      int               // after which of them the database was restored last
	by            map[string][]show // by event id
}

// show is one time that an event was handed out.
type show struct {
	session, seq int
	token        uint64
	batch        string
	kind         change.Kind
	probe        bool            // it was asked for apart from the others
	ordering     poller.Ordering // of the session's settings
	all          bool            // all events are in order with each other
}

func (s *shows) session() int { s.sessions++; return s.sessions }

func (s *shows) add(id string, at show) {
	s.seq++
	at.seq = s.seq
	s.by[id] = append(s.by[id], at)
}

// loose reports whether there is no order to keep.
func (s *show) loose() bool { return s.ordering == poller.OrderNone }

// latest is the show that a request has an event from: that of its batch, or of a probe from elsewhere, which has none.
func (s *shows) latest(id string, token uint64, batch string) show {
	var found show
	for _, at := range slices.Backward(s.by[id]) {
		if at.token == token && at.batch == batch {
			return at
		}
		if at.token == token && found.seq == 0 {
			found = at
		}
	}
	return found
}

// before reports whether the session of y showed the event before y, and after the show since. What was a probe then
// was ahead of its place, where it comes again if it is refused: placed leaves that out.
func (s *shows) before(id string, y show, since int, placed bool) bool {
	return slices.ContainsFunc(s.by[id], func(at show) bool {
		return at.session == y.session && since < at.seq && at.seq < y.seq && (!placed || !at.probe)
	})
}
