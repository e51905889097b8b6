package feed

import (
	"context"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// shared is what the sessions of one process have in common.
type shared struct {
	cfg  Config
	open func(context.Context) (*Outbox, error)

	mu      sync.Mutex
	stays   bool        // this process is the next to tick
	resting *holding    // of a session that ended well, for the next one
	rest    *time.Timer // its end
	counted time.Time
	figures *poller.OutboxFigures // as of counted
	// counting ends the count that is under way beside ticks, and waits for that; nil: none is.
	counting func()
	mended   time.Time            // when mend last began, in any session: one may last only seconds
	told     map[string]time.Time // when warnings about the outbox were last said
	unmarked unmarked
}

// tellEvery is how often a warning about the outbox is said again that lasts.
const tellEvery = time.Hour

// figuresEvery is how often the events of an outbox are counted. Counting costs time, and gauges need no more.
const figuresEvery = 15 * time.Second

// figuresTimeout bounds a count beside ticks.
const figuresTimeout = time.Minute

// news are the warnings that are to be said now.
func (p *shared) news(warnings []string) (say []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	told := map[string]time.Time{}
	for _, text := range warnings {
		at, known := p.told[text]
		if !known || time.Since(at) >= tellEvery {
			say, at = append(say, text), time.Now()
		}
		told[text] = at
	}
	p.told = told
	return say
}

// mendNow reports, once every mendEvery, that it is time to mend.
func (p *shared) mendNow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mended.IsZero() && time.Since(p.mended) < mendEvery {
		return false
	}
	p.mended = time.Now()
	return true
}

// count returns the figures of the outbox, nil if they are not known. If the last ones are old it counts anew: at once,
// or, in a process that goes on, beside the next ticks, because counting may take seconds. The first failures are
// counted at once: the report says that there are some.
func (p *shared) count(ctx context.Context, failures bool) *poller.OutboxFigures {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.counted) < figuresEvery || p.counting != nil {
		return p.figures
	}
	atOnce := !p.stays || failures && p.counted.IsZero()
	p.counted = time.Now() // a count that fails is not repeated by each tick either
	if atOnce {
		p.mu.Unlock()
		f := p.countNow(ctx)
		p.mu.Lock()
		p.figures = f
		return f
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTimeout)
	done := make(chan struct{})
	p.counting = func() { cancel(); <-done }
	go func() {
		defer close(done)
		defer cancel()
		f := p.countNow(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.figures, p.counting = f, nil
	}()
	return p.figures
}

func (p *shared) countNow(ctx context.Context) *poller.OutboxFigures {
	o, err := p.open(ctx)
	if err != nil {
		return nil
	}
	f, err := o.Events.Figures(ctx)
	if err != nil {
		return nil
	}
	return &f
}

// leave takes a holding back from its session: it rests for the next one where that may be, or ends.
func (p *shared) leave(ctx context.Context, h *holding, well bool) error {
	p.mu.Lock()
	if well && p.stays && p.resting == nil && h.deadline.Check() == nil {
		defer p.mu.Unlock()
		p.resting = h
		p.rest = time.AfterFunc(h.ttl/3, func() { _ = p.giveUp(h) }) // where it fails, the claims expire
		return nil
	}
	p.mu.Unlock()
	return h.end(ctx)
}

// goOn returns the holding that rests; nil where there is none.
func (p *shared) goOn() *holding {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.resting
	if h == nil || h.deadline.Check() != nil {
		return nil // giveUp ends it
	}
	p.rest.Stop()
	p.resting = nil
	return h
}

// giveUp ends a holding if it still rests.
func (p *shared) giveUp(h *holding) error {
	p.mu.Lock()
	rests := h != nil && p.resting == h
	if rests {
		p.rest.Stop()
		p.resting = nil
	}
	p.mu.Unlock()
	if !rests {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout(h.ttl))
	defer cancel()
	return h.end(ctx)
}

// releaseTimeout bounds how long claims are given back. Then others wait until they expire.
func releaseTimeout(ttl time.Duration) time.Duration { return min(ttl/3, 5*time.Second) }

// mendEvery is how often a process looks for what crashes and operators leave behind, while anything waits.
const mendEvery = 30 * time.Second
