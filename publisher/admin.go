package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
)

var _ Operator = (*Publisher)(nil)

// adminChunk is how many events an operator's command shows or changes in one statement or transaction.
const adminChunk = 1000

// adminSQL is what operators do with events, for each layout. It is implemented by ownEvents and by mapped.
type adminSQL interface {
	// page returns at most limit events that f chooses behind a position ("" for the beginning), in the order in which they are
	// published, and the position of the last.
	page(ctx context.Context, f *Filter, after string, limit int) (entries []Entry, last string, err error)
	countOf(ctx context.Context, f *Filter) (int64, error)
	// requeueThese makes events that are still DEAD LETTER or FAILED due now, and discardThese gives those up that are still DEAD LETTER,
	// FAILED or WAITING. Each is one transaction and returns how many it changed.
	requeueThese(ctx context.Context, entries []Entry) (int64, error)
	discardThese(ctx context.Context, entries []Entry, reason string) (int64, error)
	// cleanable returns an error where published rows cannot be told from others by age.
	cleanable() error
	// clean deletes what is older than the retention among the next rows behind a position, at most chunk of them, and returns the
	// position of the last row that it looked at: "" where there are no more.
	clean(ctx context.Context, after string, chunk int) (deleted int64, last string, err error)
}

// admin returns the outbox as operators see it.
func (p *Publisher) admin(ctx context.Context) (*sqlTable, adminSQL, error) {
	t, ok := p.table.(*sqlTable)
	if !ok {
		return nil, nil, errors.New("this outbox is not in a database")
	}
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, nil, err
	}
	a, ok := c.events.(adminSQL)
	if !ok {
		return nil, nil, fmt.Errorf("this outbox (%T) has no operator's side", c.events)
	}
	return t, a, nil
}

// About describes the outbox.
func (p *Publisher) About(ctx context.Context) (About, error) {
	t, _, err := p.admin(ctx)
	if err != nil {
		return About{}, err
	}
	c, err := t.catalog(ctx)
	if err != nil {
		return About{}, err
	}
	a := About{Origin: c.description.Origin, Warnings: c.description.warnings, Layout: "own", Strategy: t.strategy(c)}
	if !c.description.own {
		a.Layout = "mapped"
	}
	g, err := t.look(ctx)
	if err != nil {
		return About{}, err
	}
	if g.paused {
		a.Paused = cmp.Or(g.by, "somebody")
	}
	if a.Strategy == Partitioned {
		a.Partitions = cmp.Or(g.partitions, p.cfg.Partitions)
	}
	if a.Owners, err = t.owners(ctx, c); err != nil {
		return About{}, err
	}
	a.Figures, err = t.figures(ctx)
	return a, err
}

// strategy is the one in force.
func (t *sqlTable) strategy(c *catalog) Strategy {
	switch {
	case t.cfg.Strategy != "":
		return t.cfg.Strategy
	case c.description.own && c.description.buckets:
		return Partitioned
	default:
		return Leader
	}
}

// owners are the instances with live claims, by name.
func (t *sqlTable) owners(ctx context.Context, c *catalog) ([]Owner, error) {
	var owners []Owner
	err := t.do(ctx, "read the claims", func(ctx context.Context, q querier) error {
		owners = nil
		s := t.statement()
		s.add("SELECT owner, MAX(token), SUM(CASE WHEN unit LIKE 'i:%' THEN 0 ELSE 1 END), MAX(-(", t.d.age("expires_at"), ")) FROM ", t.claims.String(),
			" WHERE outbox = ", s.arg(c.name), " AND owner <> '' AND unit <> '", cleanupUnit, "' AND expires_at > ", t.d.now(), " GROUP BY owner ORDER BY owner")
		return s.each(ctx, q, func(scan func(...any) error) (bool, error) {
			var o Owner
			var ms int64
			if err := scan(&o.Name, &o.Token, &o.Units, &ms); err != nil {
				return false, err
			}
			o.Expires = time.Duration(ms) * time.Millisecond
			owners = append(owners, o)
			return true, nil
		})
	})
	return owners, err
}

// Count returns how many events f chooses.
func (p *Publisher) Count(ctx context.Context, f Filter) (int64, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	_, a, err := p.admin(ctx)
	if err != nil {
		return 0, err
	}
	n, err := a.countOf(ctx, &f)
	if f.Limit > 0 {
		n = min(n, int64(f.Limit))
	}
	return n, err
}

// List shows events page by page, so that its memory does not depend on how many there are. What changes meanwhile is shown
// before or after the change.
func (p *Publisher) List(ctx context.Context, f Filter, each func(Entry) error) error {
	_, err := p.pages(ctx, f, func(_ adminSQL, entries []Entry) (int64, error) {
		for i := range entries {
			if err := each(entries[i]); err != nil {
				return int64(i), err
			}
		}
		return int64(len(entries)), nil
	})
	return err
}

// pages gives the chosen events to work, a page at a time, and adds up what it returns.
func (p *Publisher) pages(ctx context.Context, f Filter, work func(adminSQL, []Entry) (int64, error)) (total int64, err error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	_, a, err := p.admin(ctx)
	if err != nil {
		return 0, err
	}
	left := f.Limit
	for after := ""; ; {
		limit := adminChunk
		if f.Limit > 0 {
			limit = min(limit, left)
		}
		entries, last, err := a.page(ctx, &f, after, limit)
		if err != nil {
			return total, err
		}
		if len(entries) > 0 {
			n, err := work(a, entries)
			total += n
			if err != nil {
				return total, err
			}
		}
		left -= len(entries)
		if last == "" || f.Limit > 0 && left <= 0 {
			return total, nil
		}
		after = last
	}
}

// Requeue makes dead letters and FAILED events due at once. They come out of the outbox as any failed event whose time has
// come: each before the later ones of its aggregate, which go on waiting until it is settled. Nothing that is being
// published is touched.
func (p *Publisher) Requeue(ctx context.Context, f Filter, progress func(int64)) (int64, error) {
	if err := f.narrow("requeue", Dead, Failed); err != nil {
		return 0, err
	}
	var total int64
	return p.pages(ctx, f, func(a adminSQL, entries []Entry) (int64, error) {
		n, err := a.requeueThese(ctx, entries)
		return n, report(&total, n, progress, err)
	})
}

// Discard gives events up for ever.
func (p *Publisher) Discard(ctx context.Context, f Filter, by string, progress func(int64)) (int64, error) {
	if err := f.narrow("discard", Dead, Failed, Waiting); err != nil {
		return 0, err
	}
	reason := plaintext.Start(sayable(fmt.Sprintf("discarded by %s at %s", cmp.Or(by, "an operator"), time.Now().UTC().Format(time.RFC3339))), 1000)
	var total int64
	return p.pages(ctx, f, func(a adminSQL, entries []Entry) (int64, error) {
		n, err := a.discardThese(ctx, entries, reason)
		return n, report(&total, n, progress, err)
	})
}

func report(total *int64, n int64, progress func(int64), err error) error {
	*total += n
	if progress != nil {
		progress(*total)
	}
	return err
}

// Pause stops publishing on every instance, with its next look.
func (p *Publisher) Pause(ctx context.Context, by string) error {
	t, _, err := p.admin(ctx)
	if err != nil {
		return err
	}
	return t.pause(ctx, fmt.Sprintf("%s at %s", cmp.Or(by, "an operator"), time.Now().UTC().Format(time.RFC3339)))
}

// Resume ends a pause; without one it does nothing.
func (p *Publisher) Resume(ctx context.Context) error {
	t, _, err := p.admin(ctx)
	if err != nil {
		return err
	}
	return t.resume(ctx)
}

// Work returns the partitions with something to publish.
func (p *Publisher) Work(ctx context.Context) (partitions []int, of int, err error) {
	t, _, err := p.admin(ctx)
	if err != nil {
		return nil, 0, err
	}
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, 0, err
	}
	g, err := t.look(ctx)
	if err != nil {
		return nil, 0, err
	}
	of = 1
	if t.strategy(c) == Partitioned {
		of = cmp.Or(g.partitions, p.cfg.Partitions)
	}
	if g.paused || !g.work {
		return nil, of, nil
	}
	partitions, err = t.work(ctx, of)
	return partitions, of, err
}

// check finds what no event can meet.
func (f *Filter) check() error {
	for _, s := range f.States {
		if !slices.Contains([]State{Pending, Publishing, Published, Failed, Waiting, Dead, Discarded}, s) {
			return fmt.Errorf("%w: there is no state %q: choose of PENDING, PUBLISHING, PUBLISHED, FAILED, WAITING, DEAD LETTER and DISCARDED", poller.ErrConfig, s)
		}
	}
	if n := len(f.IDs) + len(f.Keys); n > adminChunk {
		return fmt.Errorf("%w: %d ids and keys are named: at most %d are taken at once", poller.ErrConfig, n, adminChunk)
	}
	if slices.Contains(f.IDs, "") || slices.Contains(f.Keys, "") {
		return fmt.Errorf("%w: an id or a key is empty", poller.ErrConfig)
	}
	if f.Limit < 0 || f.OlderThan < 0 || f.YoungerThan < 0 {
		return fmt.Errorf("%w: limit and ages are not negative", poller.ErrConfig)
	}
	return nil
}

// narrow restricts a filter to the states that a command takes: all of them where none is named.
func (f *Filter) narrow(command string, states ...State) error {
	if len(f.States) == 0 {
		f.States = states
		return nil
	}
	for _, s := range f.States {
		if !slices.Contains(states, s) {
			return fmt.Errorf("%w: %s takes events that are %v, not %s", poller.ErrConfig, command, states, s)
		}
	}
	return nil
}
