package plan

import (
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// UnknownZone is how far a time may be ahead of the clock that is kept in the easternmost zone and read as UTC. Who
// leaves source__time_zone out has not said that a column without a zone is in UTC.
const UnknownZone = 14 * time.Hour

// Dated reports whether the cursor's first column is a time.
func (p *Plan) Dated() bool { return p.Sel.Order[0].Value.Kind.IsTime() }

// Zoneless reports whether values of the cursor's first column carry no zone, and mean a wall clock.
func (p *Plan) Zoneless() bool {
	v := &p.Sel.Order[0].Value
	return !v.Zoned && (v.Kind == engine.KindDate || v.Kind == engine.KindDateTime || p.StoredTimes)
}

// Dates reads the positions of the plan as times; nil where the cursor's first column is none.
func (p *Plan) Dates(cfg *Config) *late.Dates {
	if !p.Dated() {
		return nil
	}
	d := &late.Dates{Span: func(at change.Cursor) (first, last time.Time, ok bool) { return p.Span(cfg, at) }}
	if p.Zoneless() && p.Zone(cfg) == time.UTC {
		d.Slack = UnknownZone
	}
	if p.Sel.Cursors == 1 && !p.StoredTimes {
		d.Before = func(at time.Time) change.Cursor { return p.BeforeMoment(cfg, at) }
	}
	return d
}

// Span is the first and the last moment at which a clock of the column's zone shows the value of a row's position.
func (p *Plan) Span(cfg *Config, c change.Cursor) (first, last time.Time, ok bool) {
	pos, err := p.Decode(c)
	if err != nil || len(pos) < len(p.Sel.Order) {
		return first, last, false
	}
	zone := time.UTC
	if p.Zoneless() {
		zone = p.Zone(cfg)
	}
	at, ok := timeform.Parse(pos[0], zone)
	if !ok {
		if at, ok = timeform.FromNumber(pos[0], p.StoredTimes); !ok && !p.StoredTimes {
			at, ok = timeform.MonthOf(pos[0])
		}
		return at, at, ok
	}
	return timeform.Earlier(at, zone), timeform.Later(at, zone), true
}

// BeforeMoment is the position before every row that is written at a moment or later, which a column may hold rounded
// down to its resolution. A wall clock that is put back soon will show lower values than it does now.
func (p *Plan) BeforeMoment(cfg *Config, at time.Time) change.Cursor {
	col := &p.Sel.Order[0]
	step := time.Second
	if col.Value.Kind != engine.KindDate { // whose days need not have 24 hours
		step = max(step, StepOf(&p.Syntax, col))
	}
	at = at.Add(-step).Truncate(time.Second)
	zone := time.UTC
	if p.Zoneless() {
		zone = p.Zone(cfg)
		at = at.Add(-timeform.ComesBack(at, zone))
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
	return p.AppendCursor(nil, [][]byte{value}, nil)
}

// StepOf is the resolution of a column's times.
func StepOf(s *engine.Syntax, col *engine.Column) time.Duration {
	switch {
	case !col.Value.Kind.IsTime() || s.StoredTimes:
		return 0
	case col.Value.Kind == engine.KindDate:
		return 24 * time.Hour
	}
	return s.Step(strings.ToLower(col.Type))
}

// SettlesByClock reports whether the cursor is one time that can be compared with the database's clock.
func (p *Plan) SettlesByClock() bool {
	return p.Sel.Cursors == 1 && p.Sel.Order[0].Value.Kind.IsTime() && !p.StoredTimes
}
