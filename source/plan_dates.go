package source

import (
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

// unknownZone is how far a time may be ahead of the clock that is kept in the easternmost zone and read as UTC. Who leaves
// source__time_zone out has not said that a column without a zone is in UTC.
const unknownZone = 14 * time.Hour

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

// stepOf is the resolution of a column's times.
func stepOf(s *engine.Syntax, col *engine.Column) time.Duration {
	switch {
	case !col.Value.Kind.IsTime() || s.StoredTimes:
		return 0
	case col.Value.Kind == engine.KindDate:
		return 24 * time.Hour
	}
	return s.Step(strings.ToLower(col.Type))
}

// settlesByClock reports whether the cursor is one time that can be compared with the database's clock.
func (p *plan) settlesByClock() bool {
	return p.sel.cursors == 1 && p.sel.order[0].Value.Kind.IsTime() && !p.storedTimes
}
