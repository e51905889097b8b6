package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// positionPlan is a plan with a composite cursor and key, of which one column is in both.
func positionPlan() *Plan {
	tenant := engine.Column{Name: "tenant", Value: engine.Value{Kind: engine.KindText}}
	id := engine.Column{Name: "id", Value: engine.Value{Kind: engine.KindInteger}}
	at := engine.Column{Name: "at", Value: engine.Value{Kind: engine.KindDateTime}}
	return &Plan{
		Dialect: postgres.Dialect{}, CursorKind: "composite+pk", Key: []int{0, 1},
		Sel: keyset.Selection{Columns: []engine.Column{tenant, id, at}, Order: []engine.Column{at, id, tenant},
			Cursors: 2},
		KeyNames: []string{`"tenant":`, `"id":`},
	}
}

func TestPosition(t *testing.T) {
	p := positionPlan()
	c := change.Cursor(p.AppendCursor(nil, [][]byte{[]byte(`"2026-04-07T00:00:00"`), []byte(`"9007199254740993"`)},
		[]byte(`{"tenant":"a\"b","id":"9007199254740993"}`)))
	pos, err := p.Decode(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`"2026-04-07T00:00:00"`, `"9007199254740993"`, `"a\"b"`} {
		if string(pos[i]) != want {
			t.Errorf("%d: %s, want %s", i, pos[i], want)
		}
	}
	if back := p.AppendCursor(nil, pos[:2],
		[]byte(`{"tenant":"a\"b","id":"9007199254740993"}`)); string(back) != string(c) {
		t.Errorf("%s came back as %s", c, back)
	}
	// Only the value: a start that comes after every row of it.
	if pos, err = p.Decode(change.Cursor(`{"kind":"composite+pk","value":["2026-04-07T00:00:00",1]}`)); err != nil ||
		len(pos) != 2 {
		t.Errorf("%s, %v", pos, err)
	}
}

// TestPositionOfNoRow: a value that no row's cursor can have sorts after all of them, and rows would never come.
func TestPositionOfNoRow(t *testing.T) {
	for _, value := range []string{`["2026-04-07T00:00:00","abc"]`, `["infinity",1]`} {
		_, err := positionPlan().Decode(change.Cursor(`{"kind":"composite+pk","value":` + value + `}`))
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "rows would be passed over") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add([]byte(`{"kind":"composite+pk","value":["2026-04-07T00:00:00",1],"tiebreaker":{"tenant":"a","id":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := positionPlan()
		c, err := change.ParseCursor(data)
		if err != nil {
			return
		}
		pos, err := p.Decode(c)
		if err != nil {
			return
		}
		if len(pos) != 2 && len(pos) != 3 {
			t.Fatalf("%s gives %d values", c, len(pos))
		}
		_, _ = p.Args(keyset.Statement{Args: []int{0, 1}}, pos, nil)
	})
}
