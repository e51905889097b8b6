package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// storedTimes is a source over a table of DATETIME values, and what inserts further ones.
func storedTimes(t *testing.T) (src *Cursor, insert func(values ...string)) {
	t.Helper()
	url := testenv.SQLite(t)
	cfg := plan.Config{Table: "o", Cursor: []string{"v"}, LateCommits: "none"}
	src = openSource(t, url, "sqlite", cfg, "CREATE TABLE o (id INTEGER PRIMARY KEY, v DATETIME NOT NULL)")
	return src, func(values ...string) {
		t.Helper()
		for _, v := range values {
			openSource(t, url, "sqlite", cfg, "INSERT INTO o (v) VALUES ("+v+")")
		}
	}
}

// TestClocksAreChanged: where a zone's clock is put forward, text and moment go on ascending, and the rows before the
// change are no strays to those behind it. Where it is put back, the text goes back, and the row is named.
func TestClocksAreChanged(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]string{"offset": "'%s %s+0%d:00'", "T": "'%sT%s+0%d:00'",
		"Go": "'%s %s +0%d00 zone'"} {
		t.Run(name, func(t *testing.T) {
			src, insert := storedTimes(t)
			at := func(day, clock string, offset int) string { return fmt.Sprintf(format, day, clock, offset) }
			drained := func(from change.Cursor, want int) change.Cursor {
				t.Helper()
				src.strays = finding{} // a minute later
				page, err := src.Fetch(t.Context(), change.Range{After: from}, everything)
				if err != nil || len(page.Events) != want {
					t.Fatalf("%d rows: %v", len(page.Events), err)
				}
				if want == 0 {
					return from
				}
				return page.Events[want-1].Cursor
			}
			const spring = "2026-03-29"
			insert(at(spring, "01:00:00", 1), at(spring, "01:59:59", 1), at(spring, "03:00:00", 2))
			position := drained(nil, 3) // in one page
			position = drained(position, 0)
			insert(at(spring, "03:00:01", 2))
			position = drained(position, 1)
			position = drained(position, 0)

			// Who writes with the old offset still is found, wherever the position has come to meanwhile.
			insert(at(spring, "02:00:02", 1), at(spring, "03:30:00", 2))
			src.strays = finding{}
			_, err := src.Fetch(t.Context(), change.Range{After: position}, everything)
			isNormalizeFault(t, err, `{"id":5}`, "02:00:02", "clocks")

			src, insert = storedTimes(t)
			const autumn = "2026-10-25"
			insert(at(autumn, "02:59:59", 2))
			position = drained(nil, 1)
			insert(at(autumn, "02:00:00", 1))
			src.strays = finding{}
			_, err = src.Fetch(t.Context(), change.Range{After: position}, everything)
			isNormalizeFault(t, err, `{"id":2}`, "02:00:00", "clocks", "UTC")
		})
	}
}

// TestNumbersOfAnyUnit: 0, a negative and an early date stand in a column of seconds or milliseconds without stopping
// the poller, before the position and at the beginning. A Julian day does not.
func TestNumbersOfAnyUnit(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"1775525025", "1775525025123", "1775525025.5"} {
		for _, odd := range []string{"0", "-1", "-86400.5", "86400", "7000000", "99999999"} {
			src, insert := storedTimes(t)
			insert(odd, unit)
			keys, err := drainFrom(t, src, nil, 1)
			if err != nil || fmt.Sprint(keys) != `[{"id":1} {"id":2}]` {
				t.Errorf("%s, then %s: %s, %v", odd, unit, keys, err)
			}
			insert(odd)
			page, err := src.Fetch(t.Context(), change.Range{}, everything)
			if err != nil || len(page.Events) != 3 {
				t.Fatalf("%s beside %s: %d rows, %v", odd, unit, len(page.Events), err)
			}
			src.strays = finding{}
			if _, err := src.Fetch(t.Context(), change.Range{After: page.Events[2].Cursor}, everything); err != nil {
				t.Errorf("%s below %s: %v", odd, unit, err)
			}
		}
		for _, julian := range []string{"2461137.5", "2461137"} {
			src, insert := storedTimes(t)
			insert("0", julian, unit)
			_, err := drainFrom(t, src, nil, 3)
			if err == nil || !strings.Contains(err.Error(), "Julian") {
				_, err = drainFrom(t, src, nil, 1)
			}
			if err == nil || !strings.Contains(err.Error(), "Julian") {
				t.Errorf("%s beside %s: %v", julian, unit, err)
			}
		}
	}
	src, insert := storedTimes(t)
	insert("0", "2461137.5", "2461138")
	if keys, err := drainFrom(t, src, nil, 1); err != nil || len(keys) != 3 {
		t.Errorf("Julian days: %s, %v", keys, err)
	}
}
