package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// place is a decoded cursor: the beginning; a row's own; or, where the table is read by snapshots, a window: everything
// that was committed up to snapshot seen is behind it, and where upTo is not 0, so are the rows up to at of those
// committed after seen and up to upTo.
type place struct {
	begun, window bool
	seen, upTo    int
	at            pos
	head          int64 // of counted versions: where the window ends that it lies in; 0 for none
	table         bool  // it is after a row of the table itself, in the order of keys
}

// storedPlace is a place as JSON.
type storedPlace struct {
	Kind  string `json:"kind"`
	S1    int    `json:"s1,omitempty"`
	S2    int    `json:"s2,omitempty"`
	Head  int64  `json:"head,omitempty"`
	Value int64  `json:"value"`
	Tie   struct {
		ID int `json:"id"`
	} `json:"tiebreaker"`
}

// windowKind is the kind of a cursor that is a window, tableKind that of one in the table itself.
const windowKind, tableKind = "sim-window", "sim-row"

func placeOf(c change.Cursor) (place, error) {
	if c.IsStart() {
		return place{at: pos{-1, -1}}, nil
	}
	var s storedPlace
	if err := json.Unmarshal(c, &s); err != nil {
		return place{}, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	return place{begun: true, window: s.Kind == windowKind, seen: s.S1, upTo: s.S2, at: pos{s.Value, s.Tie.ID},
		head: s.Head, table: s.Kind == tableKind}, nil
}

// cursor is the place as the document holds it.
func (p place) cursor() change.Cursor {
	if !p.begun {
		return nil
	}
	switch {
	case p.table:
		return change.Cursor(fmt.Sprintf(`{"kind":%q,"tiebreaker":{"id":%d}}`, tableKind, p.at.key))
	case p.head > 0:
		return change.Cursor(fmt.Sprintf(`{"kind":"sim","head":%d,"value":%d,"tiebreaker":{"id":%d}}`, p.head, p.at.value,
			p.at.key))
	case !p.window:
		return cursorOf(p.at)
	}
	if p.upTo == 0 {
		return change.Cursor(fmt.Sprintf(`{"kind":%q,"s1":%d}`, windowKind, p.seen))
	}
	return change.Cursor(fmt.Sprintf(`{"kind":%q,"s1":%d,"s2":%d,"value":%d,"tiebreaker":{"id":%d}}`, windowKind, p.seen,
		p.upTo, p.at.value, p.at.key))
}

// errWindows says that two windows with one begin have different ends: the second would pass over what only the first
// shows.
var errWindows = errors.New("the window's end has changed")

// compare orders places; an error means that they cannot be ordered.
func (p place) compare(q place) (int, error) {
	if !p.begun || !q.begun || !p.window {
		return p.at.compare(q.at), nil
	}
	if p.seen != q.seen || p.upTo == 0 || q.upTo == 0 {
		return cmp.Or(cmp.Compare(p.seen, q.seen), cmp.Compare(p.upTo, q.upTo)), nil
	}
	if p.upTo != q.upTo {
		return 0, errWindows
	}
	return p.at.compare(q.at), nil
}

// passed reports whether a row's version is behind the place.
func (p place) passed(v *version) bool {
	switch {
	case !p.begun:
		return false
	case p.table:
		return !v.gone && v.row.key <= p.at.key
	case v.unrecorded:
		return true
	case !p.window:
		return v.pos().compare(p.at) <= 0
	default:
		return v.commit <= p.seen || p.upTo > 0 && v.commit <= p.upTo && v.pos().compare(p.at) <= 0
	}
}

func (p place) String() string {
	switch {
	case !p.begun:
		return "start"
	case p.table:
		return fmt.Sprintf("row %d", p.at.key)
	case p.window && p.upTo == 0:
		return fmt.Sprintf("snapshot %d", p.seen)
	case p.window:
		return fmt.Sprintf("snapshots %d to %d at %d.%d", p.seen, p.upTo, p.at.value, p.at.key)
	case p.at.key == last:
		return fmt.Sprintf("%d.max", p.at.value)
	default:
		return fmt.Sprintf("%d.%d", p.at.value, p.at.key)
	}
}

func brief(c change.Cursor) string {
	p, err := placeOf(c)
	if err != nil {
		return "?"
	}
	return p.String()
}

// between are the rows that a reader sees after low and up to high, in order.
func (t *table) between(low, high place) []*version {
	var all []*version
	for _, r := range t.rows {
		if v := r.cur; v != nil && high.passed(v) && !low.passed(v) && (high.table || r.change() != nil) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *version) int { return a.pos().compare(b.pos()) })
	return all
}

// windowPage is a page of a table that is read by snapshots: the rows that one sees and the one before did not, within
// a window whose end stays until it is read.
func (t *table) windowPage(after, upTo place, limit poller.Limit) change.Page {
	page := change.Page{Incarnation: t.incarnation, NullCursors: -1}
	end := t.commits
	if upTo.begun {
		end = max(upTo.seen, upTo.upTo)
	}
	w := place{begun: true, window: true, seen: after.seen, upTo: after.upTo, at: after.at}
	if w.upTo == 0 {
		w.upTo, w.at = end, pos{-1, -1}
	}
	if w.upTo <= w.seen {
		return page
	}
	rows := t.between(w, place{begun: true, window: true, seen: w.upTo})
	if page.More = len(rows) > limit.Rows; page.More {
		rows = rows[:limit.Rows]
	}
	page.Events = events(rows)
	for i, v := range rows {
		w.at = v.pos()
		page.Events[i].At = w.cursor()
	}
	if page.More {
		return page
	}
	closed := place{begun: true, window: true, seen: w.upTo}
	if len(rows) > 0 || after.upTo > 0 || t.w.chance(0.3) { // an idle window is closed now and then
		page.To = closed.cursor()
		page.More = end > w.upTo
	}
	return page
}
