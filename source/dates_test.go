package source

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// datedPlan is a plan whose cursor is one column of a type.
func datedPlan(t *testing.T, engineName, typ string, zone *time.Location) (*Cursor, *plan.Plan) {
	t.Helper()
	d, err := engines.Find(engineName)
	if err != nil {
		t.Fatal(err)
	}
	cfg := plan.Config{TimeZone: zone, LateWindow: time.Minute}
	return &Cursor{cfg: cfg, dialect: d}, latePlan(t, d, cfg, ruleOf(t, d, typ))
}

// TestDatesOfAWallClock: the hour before a wall clock is put back comes a second time.
func TestDatesOfAWallClock(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	utc := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for wall, want := range map[string][2]string{
		"2026-10-25T01:59:59": {"2026-10-24T23:59:59Z", "2026-10-24T23:59:59Z"},
		"2026-10-25T02:00:00": {"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		"2026-10-25T02:30:00": {"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		"2026-10-25T03:00:00": {"2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"},
		"2026-03-29T03:30:00": {"2026-03-29T01:30:00Z", "2026-03-29T01:30:00Z"},
	} {
		c, p := datedPlan(t, dsn.Postgres, "timestamp", berlin)
		at := p.AppendCursor(nil, [][]byte{change.AppendString(nil, wall)}, []byte(`{"id":1}`))
		first, last, ok := p.Dates(&c.cfg).Span(at)
		if !ok || !first.Equal(utc(want[0])) || !last.Equal(utc(want[1])) {
			t.Errorf("%s: %v to %v, %v; want %v", wall, first.UTC(), last.UTC(), ok, want)
		}
	}
	// A year beyond 9999 is ahead of every clock, and none before Christ is. MySQL has months and days 0.
	for value, ahead := range map[string]bool{"20226-11-28T01:23:45": true, "294276-12-31T23:59:59": true,
		"9999-12-31T23:59:59": true, "9999-00-00T00:00:00": true, "9999-11-00T00:00:00": true,
		"10000-03-15T00:00:00 BC": false, "0044-03-15T00:00:00 BC": false} {
		c, p := datedPlan(t, dsn.Postgres, "timestamp", berlin)
		at := p.AppendCursor(nil, [][]byte{change.AppendString(nil, value)}, []byte(`{"id":1}`))
		first, last, ok := p.Dates(&c.cfg).Span(at)
		if ok != ahead || ok && first.Year() < 9999 || last.Before(first) {
			t.Errorf("%s: %v to %v, %v", value, first, last, ok)
		}
	}
	// A position before a moment is before the lowest value that the clock will show from then on.
	for at, want := range map[string]string{
		"2026-10-24T23:30:00Z": "2026-10-25T01:29:59",
		"2026-10-25T00:30:00Z": "2026-10-25T02:00:00",
		"2026-10-25T01:30:00Z": "2026-10-25T02:29:59",
	} {
		c, p := datedPlan(t, dsn.Postgres, "timestamp", berlin)
		pos, err := p.Decode(p.Dates(&c.cfg).Before(utc(at)))
		if err != nil || string(pos[0]) != `"`+want+`"` {
			t.Errorf("before %s: %s, %v; want %s", at, pos, err, want)
		}
	}
	// And before what a column of a coarse resolution makes of a row that is written then.
	for typ, want := range map[string]string{"smalldatetime": "2026-04-07T01:22:45", "datetime2": "2026-04-07T01:23:44"} {
		c, p := datedPlan(t, dsn.SQLServer, typ, time.FixedZone("", 0))
		pos, err := p.Decode(p.Dates(&c.cfg).Before(utc("2026-04-07T01:23:45Z")))
		if err != nil || string(pos[0]) != `"`+want+`"` {
			t.Errorf("before a %s: %s, %v; want %s", typ, pos, err, want)
		}
	}
	// Rows of the hour settle when it cannot come again, on whichever side this machine's clock is off.
	for at, most := range map[string]int{
		"2026-10-24T23:30:00Z": 7200, "2026-10-25T00:30:00Z": 5400, "2026-10-25T00:59:30Z": 3630,
		"2026-10-25T01:00:00Z": 3600, "2026-10-25T01:30:00Z": 3600,
	} {
		if got := timeform.WallEdge(utc(at), berlin); got > most || got < most-60 {
			t.Errorf("at %s rows settle up to %d s after UTC, want %d", at, got, most)
		}
	}
}

// TestDatesOfColumns: which columns are times, and which zone is not known.
func TestDatesOfColumns(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("", 9*3600)
	for _, test := range []struct {
		engineName, typ string
		zone            *time.Location
		slack           time.Duration
		writes          bool // a form for a time is known
	}{
		{dsn.Postgres, "timestamptz", time.UTC, 0, true},
		{dsn.Postgres, "timestamp", time.UTC, plan.UnknownZone, true},
		{dsn.Postgres, "timestamp", tokyo, 0, true},
		{dsn.Postgres, "date", tokyo, 0, true},
		{dsn.MySQL, "timestamp", time.UTC, 0, true},
		{dsn.MySQL, "datetime", time.UTC, plan.UnknownZone, true},
		{dsn.SQLServer, "datetime2", time.UTC, plan.UnknownZone, true},
		{dsn.SQLServer, "datetimeoffset", time.UTC, 0, true},
		{dsn.SQLite, "DATETIME", time.UTC, plan.UnknownZone, false},
	} {
		c, p := datedPlan(t, test.engineName, test.typ, test.zone)
		d := p.Dates(&c.cfg)
		if d == nil || d.Slack != test.slack || (d.Before != nil) != test.writes {
			t.Errorf("%+v: %+v", test, d)
			continue
		}
		if d.Before != nil {
			at := d.Before(time.Date(2026, 4, 7, 1, 23, 45, 0, time.UTC))
			pos, err := p.Decode(at)
			if err == nil {
				_, err = p.PositionArgs(pos)
			}
			if err != nil {
				t.Errorf("%s %s takes no %s: %v", test.engineName, test.typ, at, err)
			}
			if _, _, ok := d.Span(at); ok {
				t.Errorf("%s %s: %s was given by no row", test.engineName, test.typ, at)
			}
		}
	}
	if c, p := datedPlan(t, dsn.MySQL, "bigint", time.UTC); p.Dates(&c.cfg) != nil {
		t.Error("a bigint is no time")
	}
	for number, want := range map[string]int{"1775525025": 2026, "1775525025000": 2026, "1775525025000000": 2026,
		`"1775525025000000000"`: 2026, "1775525025.123": 2026, "1775525025000.5": 2026, "2461137.55816": 2026, "2500000": 2132,
		"0": 1970, "-1.5": 1969, "1e300": 2116} {
		if at, ok := timeform.FromNumber([]byte(number), true); !ok || at.Year() != want {
			t.Errorf("%s is %v", number, at)
		}
	}
}

// TestSteps: the resolution of a cursor's times, by engine and type.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engineName, typ string
		kind            engine.Kind
		want            time.Duration
	}{
		{dsn.SQLServer, "datetime", engine.KindDateTime, 3333333},
		{dsn.SQLServer, "smalldatetime", engine.KindDateTime, time.Minute},
		{dsn.SQLServer, "datetime2(7)", engine.KindDateTime, 100},
		{dsn.SQLServer, "datetime2(0)", engine.KindDateTime, time.Second},
		{dsn.SQLServer, "datetimeoffset(3)", engine.KindOffsetTime, time.Millisecond},
		{dsn.SQLServer, "date", engine.KindDate, 24 * time.Hour},
		{dsn.Postgres, "timestamp with time zone", engine.KindInstant, time.Microsecond},
		{dsn.Postgres, "timestamp(0) without time zone", engine.KindDateTime, time.Second},
		{dsn.MySQL, "datetime", engine.KindDateTime, time.Second},
		{dsn.MySQL, "timestamp(6)", engine.KindInstant, time.Microsecond},
		{dsn.MySQL, "bigint(20)", engine.KindInteger, 0},
		{dsn.SQLite, "DATETIME", engine.KindDateTime, 0},
	} {
		d, err := engines.Find(c.engineName)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.StepOf(syntaxOf(d), &engine.Column{Type: c.typ, Value: engine.Value{Kind: c.kind}}); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.engineName, c.typ, got, c.want)
		}
	}
}
