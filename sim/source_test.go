package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// sourceOf is one instance's way to the table.
type sourceOf struct{ p *process }

var _ checkpointed.Source = sourceOf{}

var errSource = errors.New("the simulated database broke the connection")

// fingerprint is that of the simulated table.
const fingerprint = "sha256:5eed"

// read carries out a call of the source: it fails, is slow before or after it reads, or answers.
func (o sourceOf) read(ctx context.Context, what, arg string, do func() (string, error)) (err error) {
	w := o.p.w
	err = over
	o.p.ask(ctx, &call{what: what, arg: arg, resolve: func(c *call) bool {
		if c.gaveUp {
			err = ctx.Err()
			w.say(o.p.name, "%s %s: given up", what, arg)
			return true
		}
		if c.effected {
			w.say(o.p.name, "%s: its slow answer arrives", what)
			return true
		}
		slow := false
		if c.notBefore.IsZero() {
			if w.fate(w.pro.SourceFail) {
				err = errSource
				w.tally.SourceFaults++
				w.say(o.p.name, "%s %s: fails", what, arg)
				return true
			}
			if slow = w.fate(w.pro.SourceSlow); slow {
				w.tally.SourceFaults++
				if w.chance(0.5) {
					w.say(o.p.name, "%s %s: waits", what, arg)
					return c.hold(w.slowness())
				}
			}
		}
		var text string
		text, err = do()
		c.effected = true
		if err != nil {
			text = err.Error()
		}
		w.say(o.p.name, "%s %s: %s", what, arg, text)
		if slow {
			return c.hold(w.slowness())
		}
		return true
	}})
	return err
}

// Describe implements checkpointed.Source. It answers from memory, as a source does after the first time.
func (o sourceOf) Describe(context.Context) (checkpointed.Description, error) {
	p := &o.p.w.pro
	return checkpointed.Description{
		Fingerprint: fingerprint, Engine: "sim", Table: "orders", Late: o.p.set.late, Coarse: p.Groups > 0 && !o.p.set.own,
		Ranges:  !p.Tracked,
		Ordered: p.Ordered && o.p.set.late == late.Overlap && p.Groups > 0 && !o.p.set.own,
		Dates:   o.p.w.table.dates(),
	}, nil
}

// Start implements checkpointed.Source: from the beginning.
func (o sourceOf) Start(ctx context.Context) (start change.Cursor, incarnation string, err error) {
	err = o.read(ctx, "start", "", func() (string, error) {
		incarnation = o.p.w.table.incarnation
		return incarnation, nil
	})
	return nil, incarnation, err
}

// Fetch implements checkpointed.Source.
func (o sourceOf) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (page change.Page, err error) {
	w, t := o.p.w, o.p.w.table
	arg := "after " + brief(r.After)
	if !r.UpTo.IsStart() {
		arg += " up to " + brief(r.UpTo)
	}
	if r.Unsafe {
		arg += " unsafe"
	}
	err = o.read(ctx, "fetch", arg, func() (string, error) {
		after, err := placeOf(r.After)
		if err != nil {
			return "", err
		}
		upTo, err := placeOf(r.UpTo)
		if err != nil {
			return "", err
		}
		switch {
		case after.table:
			page = t.chunk(after, upTo, limit)
			o.p.keyed(page.Events)
			o.foreign(page.Events)
			return w.list(page.Events, page.More), nil
		case !upTo.begun && t.below(after):
			return "", t.gapBelow(after)
		case w.pro.Tracked && !w.pro.Windows && !w.pro.Clock && !upTo.begun:
			page = t.changePage(after, limit)
			o.p.keyed(page.Events)
			o.foreign(page.Events)
			return w.list(page.Events, page.More), nil
		case w.pro.Windows:
			page = t.windowPage(after, upTo, limit)
			o.p.keyed(page.Events)
			o.foreign(page.Events)
			return w.list(page.Events, page.More), nil
		}
		page = change.Page{Incarnation: t.incarnation, NullCursors: -1}
		if r.Known != nil {
			from, err := placeOf(r.Again)
			if err != nil {
				return "", err
			}
			o.written(&page, 0)
			if o.again(&page, r, from.at, after.at, limit.Rows); page.AgainMore {
				return w.list(page.Again, true), nil
			}
		}
		end, high := upTo.begun, upTo.at
		if o.p.set.late == late.Exact && !r.Unsafe {
			if safe, open := t.safe(); open {
				page.Safe = cursorOf(safe)
				if !end || safe.compare(high) < 0 {
					high, end = safe, true
				}
			}
		}
		rows := t.shown(after.at, high, end)
		if page.More = len(rows) > limit.Rows; page.More {
			rows = rows[:limit.Rows]
		}
		page.Events = events(rows)
		if r.Known != nil {
			r.Since = 0
		}
		o.written(&page, r.Since)
		o.p.keyed(page.Events)
		o.foreign(page.Events)
		return w.list(append(page.Again[:len(page.Again):len(page.Again)], page.Events...), page.More), nil
	})
	if err != nil {
		return change.Page{}, err
	}
	return page, nil
}

// written tells who wrote the rows of a page, where the table does, and leaves out those that need not come. What has
// ended is not always known.
func (o sourceOf) written(page *change.Page, since uint64) {
	t := o.p.w.table
	if !t.w.pro.Writers || o.p.set.late != late.Overlap {
		return
	}
	if page.Numbers = t.incarnation; t.w.chance(0.9) {
		page.Ended = t.ended()
	}
	if since == 0 || t.w.chance(0.1) { // then the tracker leaves them out
		return
	}
	kept := page.Events[:0]
	for i := range page.Events {
		page.To = page.Events[i].Cursor
		if page.Events[i].Writer >= since {
			kept, page.To = append(kept, page.Events[i]), nil
		}
	}
	page.Events = kept
}

// foreign notes which events a process has from a restored database only.
func (o sourceOf) foreign(events []change.Event) {
	w := o.p.w
	known := w.doc.Checkpoint.Incarnation
	for i := range events {
		switch id := events[i].ID; {
		case known == "" || known == w.table.incarnation:
			o.p.native[id] = true
			delete(o.p.foreign, id)
		case !o.p.native[id]:
			o.p.foreign[id] = true
		}
	}
}

// Reread implements checkpointed.Source.
func (o sourceOf) Reread(ctx context.Context, keys [][]byte) (found []change.Event, err error) {
	w, t := o.p.w, o.p.w.table
	err = o.read(ctx, "reread", fmt.Sprintf("%s", keys), func() (string, error) {
		found = found[:0]
		for _, r := range t.rows {
			if r.cur != nil {
				delete(o.p.foreign, r.cur.event.ID) // see docs/simulation.md: it shows no incarnation
			}
			if r.cur != nil && slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(r.cur.event.Key) }) {
				found = append(found, r.cur.event)
			}
		}
		o.p.keyed(found)
		return w.list(found, false), nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Other implements checkpointed.Source.
func (o sourceOf) Other(ctx context.Context, after change.Cursor, avoid [][]byte) (found *change.Event, err error) {
	w, t := o.p.w, o.p.w.table
	err = o.read(ctx, "other", "after "+brief(after)+fmt.Sprintf(" but %s", avoid), func() (string, error) {
		from, err := placeOf(after)
		if err != nil {
			return "", err
		}
		found = nil
		upTo, open := t.safe()
		rows := t.shown(from.at, upTo, open && o.p.set.late == late.Exact)
		if w.pro.Windows {
			rows = t.between(from, place{begun: true, window: true, seen: t.commits})
		}
		for _, v := range rows {
			one := events([]*version{v})
			o.p.keyed(one)
			if e := one[0]; !slices.ContainsFunc(avoid, func(k []byte) bool { return string(k) == string(e.OrderKey) }) {
				found = &e
				return w.id(e.ID), nil
			}
		}
		return "none", nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Horizon implements checkpointed.Source.
func (o sourceOf) Horizon(ctx context.Context) (h change.Horizon, err error) {
	w, t := o.p.w, o.p.w.table
	var r reading
	err = o.read(ctx, "horizon", "", func() (string, error) {
		h = change.Horizon{Now: time.Now().Add(t.clockShift), Shown: w.pro.Shown}
		for _, x := range t.open {
			if began := x.began.Add(t.clockShift); h.Shown && (h.Oldest.IsZero() || began.Before(h.Oldest)) {
				h.Oldest, h.By = began, fmt.Sprintf("tx%d", x.id)
			}
		}
		r = reading{h.Now, time.Now(), len(t.eras) - 1}
		return h.By, nil
	})
	if err == nil {
		o.p.reads.Lock()
		o.p.read = append(o.p.read, r)
		o.p.reads.Unlock()
	}
	return h, err
}

func events(rows []*version) []change.Event {
	all := make([]change.Event, len(rows))
	for i, v := range rows {
		all[i] = v.event
	}
	return all
}

// Compare implements checkpointed.Source: a restored database is another one.
func (o sourceOf) Compare(was, is string) (checkpointed.Relation, string) {
	if was == is {
		return checkpointed.SameDatabase, is
	}
	return checkpointed.AnotherDatabase, is
}

// Replaced implements checkpointed.Source: the simulated table is never made anew.
func (o sourceOf) Replaced(context.Context, change.Cursor, string, string) (string, error) {
	return "", nil
}
