package source

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// unknownZone is how far a time may be ahead of the clock that is kept in the easternmost zone and read as UTC. Who leaves
// source__time_zone out has not said that a column without a zone is in UTC.
const unknownZone = 14 * time.Hour

// dates reads the positions of the plan as times; nil where the cursor's first column is none.
func (c *Cursor) dates(p *plan) *poller.Dates {
	if !p.dated() {
		return nil
	}
	d := &poller.Dates{Span: func(at change.Cursor) (first, last time.Time, ok bool) { return p.span(&c.cfg, at) }}
	if p.zoneless() && p.zone(&c.cfg) == time.UTC {
		d.Slack = unknownZone
	}
	if p.sel.cursors == 1 && !p.storedTimes {
		d.Before = func(at time.Time) change.Cursor { return p.beforeMoment(&c.cfg, at) }
	}
	return d
}

// dated reports whether the cursor's first column is a time.
func (p *plan) dated() bool { return p.sel.order[0].Value.Kind.IsTime() }

// zoneless reports whether values of the cursor's first column carry no zone, and mean a wall clock.
func (p *plan) zoneless() bool {
	v := &p.sel.order[0].Value
	return !v.Zoned && (v.Kind == engine.KindDate || v.Kind == engine.KindDateTime || p.storedTimes)
}

// span is the first and the last moment at which a clock of the column's zone shows the value of a row's position.
func (p *plan) span(cfg *Config, c change.Cursor) (first, last time.Time, ok bool) {
	pos, err := p.decode(c)
	if err != nil || len(pos) < len(p.sel.order) {
		return first, last, false
	}
	zone := time.UTC
	if p.zoneless() {
		zone = p.zone(cfg)
	}
	at, ok := parseTime(pos[0], zone)
	if !ok {
		at, ok = storedNumber(pos[0], p.storedTimes)
		return at, at, ok
	}
	return earlier(at, zone), later(at, zone), true
}

// later is the second moment at which a zone's wall clock shows what it shows at a moment; the moment itself where there is
// none after it.
func later(at time.Time, zone *time.Location) time.Time {
	if change, back := nextOffset(at, zone); back > 0 && !at.Add(back).Before(change) {
		return at.Add(back)
	}
	return at
}

// earlier is the first such moment.
func earlier(at time.Time, zone *time.Location) time.Time {
	began, _ := at.In(zone).ZoneBounds()
	if began.IsZero() {
		return at
	}
	before := began.Add(-time.Second)
	_, was := before.In(zone).Zone()
	_, is := at.In(zone).Zone()
	if first := at.Add(time.Duration(is-was) * time.Second); first.Before(began) && was > is {
		return first
	}
	return at
}

// nextOffset is when the zone's clock changes after a moment, and by how much it is put back then; negative where it is put
// forward, and zero where it never changes.
func nextOffset(at time.Time, zone *time.Location) (change time.Time, back time.Duration) {
	_, change = at.In(zone).ZoneBounds()
	if change.IsZero() {
		return change, 0
	}
	_, before := at.In(zone).Zone()
	_, after := change.In(zone).Zone()
	return change, time.Duration(before-after) * time.Second
}

// storedNumber is what a number means that is stored for a time: seconds since 1970, or by its size milliseconds or
// microseconds.
func storedNumber(scalar []byte, stored bool) (time.Time, bool) {
	if !stored || classOf(scalar) != '0' {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(string(scalar), 10, 64)
	switch {
	case err != nil:
		return time.Time{}, false
	case n < 100_000_000_000:
		return time.Unix(n, 0).UTC(), true
	case n < 100_000_000_000_000:
		return time.UnixMilli(n).UTC(), true
	default:
		return time.UnixMicro(n).UTC(), true
	}
}

// beforeMoment is the position before every row that is written at a moment or later, which a column may hold rounded down
// to its resolution. A wall clock that is put back soon will show lower values than it does now.
func (p *plan) beforeMoment(cfg *Config, at time.Time) change.Cursor {
	col := &p.sel.order[0]
	step := time.Second
	if col.Value.Kind != engine.KindDate { // whose days need not have 24 hours
		step = max(step, stepOf(&p.syntax, col))
	}
	at = at.Add(-step).Truncate(time.Second)
	zone := time.UTC
	if p.zoneless() {
		zone = p.zone(cfg)
		at = at.Add(-comesBack(at, zone))
	}
	var value []byte
	switch col.Value.Kind {
	case engine.KindDate:
		value = change.AppendDate(nil, at.In(zone).AddDate(0, 0, -1))
	case engine.KindDateTime:
		value = change.AppendDateTime(nil, at.In(zone))
	case engine.KindOffsetTime:
		value = change.AppendOffsetTime(nil, at)
	default:
		value = change.AppendInstant(nil, at)
	}
	return p.appendCursor(nil, [][]byte{value}, nil)
}

// comesBack is by how much a zone's wall clock at a moment is ahead of the lowest value that it will show from then on: up to
// an hour in the hour before it is put back, else nothing.
func comesBack(at time.Time, zone *time.Location) time.Duration {
	change, back := nextOffset(at, zone)
	return max(back-change.Sub(at), 0)
}

// latestKept is how many of the newest rows are looked through for one that is not dated ahead.
const latestKept = 10_000

// notAhead returns the newest position that is not dated beyond the database's clock: the position to begin at, or to take
// for what was there at a moment. newest is the newest of all.
func (c *Cursor) notAhead(ctx context.Context, s *session, p *plan, newest change.Cursor) (last change.Cursor, err error) {
	d := c.dates(p)
	if d == nil || newest.IsStart() {
		return newest, nil
	}
	h, err := c.horizon(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("read the database's clock: %w", err)
	}
	ahead := func(at change.Cursor) bool {
		first, _, ok := d.Span(at)
		return ok && first.After(h.Now.Add(c.cfg.LateWindow+d.Slack))
	}
	if !ahead(newest) {
		return newest, nil
	}
	seen := 0
	err = c.dialect.Read(ctx, s.conn, p.sel.newest(latestKept).text, nil, p.sel.order, func(r engine.Row) (bool, error) {
		at, err := p.cursorOf(r)
		seen++
		if err == nil && !ahead(at) {
			last = at
		}
		return err == nil && last == nil, err
	})
	if err == nil && last == nil && seen == latestKept {
		err = fmt.Errorf("%w: the newest %d rows are all dated after the database's clock: correct them, exclude them by source__where, "+
			"or write the value to begin at into source__start", poller.ErrConfig, seen)
	}
	return last, err
}
