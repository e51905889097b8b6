package tracked

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Window is the window of one page. It belongs to whoever reads the page. Its methods but Finish also take nil, for a
// page that is not one of live changes.
type Window struct {
	plan.Window
	table Table
	after change.Cursor
	// builtIn is the engine's own tracking, nil for a change table; told is what that says beside the page. fromTold
	// says that changes are read since Told, and not since the window's begin.
	builtIn  *engine.BuiltIn
	told     string
	fromTold bool
}

// Window is the window of a page of live changes; nil for every other page.
func (t Table) Window(r change.Range) (*Window, error) {
	p := t.Plan
	if p.Tracked == nil || !r.UpTo.IsStart() {
		return nil, nil
	}
	w, err := p.Within(r.After)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	if p.BuiltIn() != nil {
		return t.builtInWindow(w, r.After, t.Cfg.OnlyInserts() || t.Cfg.LeavesWrites()), nil
	}
	return &Window{Window: w, table: t, after: r.After}, nil
}

// builtInWindow is the window of a page of the engine's own changes. After a position within a version the rest of that
// is to come, too.
func (t Table) builtInWindow(w plan.Window, after change.Cursor, fromTold bool) *Window {
	if w.Head == nil && w.At != nil && !w.Whole {
		w.Since = change.AppendInt(nil, max(numberOf(w.At)-1, 0))
		w.Told = w.Since
	}
	return &Window{Window: w, table: t, after: after, builtIn: t.Plan.BuiltIn(), fromTold: fromTold}
}

// FromBeginning is the window of the first page of what the engine tracks itself.
func (t Table) FromBeginning() *Window { return t.builtInWindow(plan.Window{}, nil, false) }

// IsBuiltIn reports whether the changes are those that the engine tracks itself.
func (w *Window) IsBuiltIn() bool { return w != nil && w.builtIn != nil }

// Reset forgets what the engine told beside an attempt to read the page.
func (w *Window) Reset() {
	if w != nil {
		w.told = ""
	}
}

// Newer tells what was inserted within the window.
func (w *Window) Newer() func([]byte) bool {
	if w == nil {
		return nil
	}
	return func(created []byte) bool { return plan.Later(created, w.Since) }
}

// Masked reports whether the masks of a page may hold every column that was written since all was told. After a window
// of several pages they do not: a row may have left it, without being told.
func (w *Window) Masked() bool { return w.IsBuiltIn() && !plan.Later(w.since(), w.Told) }

// since is the version that the engine's own changes are read after.
func (w *Window) since() []byte {
	if w.fromTold {
		return w.Told // what was inserted, or which columns were written, since then may still have to be told
	}
	return w.Since
}

// Selection is what a page reads, and under which conditions.
func (w *Window) Selection(p *plan.Plan, also []keyset.Condition) (*keyset.Selection, []keyset.Condition) {
	if !w.IsBuiltIn() {
		return &p.Sel, also
	}
	sel := p.Sel
	sel.From = p.Table.Changes.Newer
	return &sel, append(also[:len(also):len(also)], func(b *keyset.Builder, s *keyset.Selection) { w.bound(b, s) })
}

// bound keeps a page within its window, and puts the transaction around it. A window's first page has no end: what was
// committed after the engine said how far it had come shows which rows have left the window in between.
func (w *Window) bound(b *keyset.Builder, s *keyset.Selection) {
	p := w.table.Plan
	version := &p.Sel.Columns[p.Tracked.Version]
	read := int64(-1)
	if w.Head == nil && w.Whole {
		read = numberOf(w.At)
	}
	transact(b, p, numberOf(w.since()), read, &w.told)
	if w.Head == nil {
		b.Add("1 = 1")
		return
	}
	b.Add(s.Column(*version) + " <= ")
	b.Value(version, numberOf(w.Head))
}

// Finish gives the events of a page their positions, and refuses a page from before what the change table still has.
// tell asks the engine what it has told beside the page, where the reading was broken off before that.
func (w *Window) Finish(page *change.Page, col *collect.Collector, tell func() (Told, error)) error {
	if w.IsBuiltIn() {
		return w.placeBuiltIn(page, tell)
	}
	if col.Floor != nil {
		if err := w.table.belowFloor(w.after, &w.Window, col.Floor); err != nil {
			*page = change.Page{}
			return err
		}
	}
	head := w.Head
	if head == nil {
		head = slices.Clone(col.Head)
	}
	for i := range page.Events {
		e := &page.Events[i]
		switch last := i == len(page.Events)-1; {
		case !last || page.More:
			e.At = w.Place(e.Cursor, head)
		case w.Head != nil:
			e.At = w.End(e.Cursor)
		}
	}
	return nil
}

// placeBuiltIn gives the events of a page their positions, and says where it ends. It refuses a page whose changes are
// not complete.
func (w *Window) placeBuiltIn(page *change.Page, tell func() (Told, error)) error {
	var t Told
	var err error
	if w.told != "" {
		t, err = ParseTold(w.told)
	} else {
		t, err = tell()
	}
	if err == nil {
		read := w.Window
		if w.fromTold && w.Told != nil && plan.Later(w.At, w.Told) {
			read.At, read.Whole = w.Told, true // what was inserted or written has to be known from there on
		}
		err = cmp.Or(w.table.outside(w.after, &w.Window, t.Head, t.Floor), w.table.belowFloor(w.after, &read, t.Floor))
	}
	if err != nil {
		*page = change.Page{}
		return err
	}
	page.Table = t.Table
	window := w.Window
	if window.Head == nil {
		window.Head = t.Head
	}
	if w.fromTold && window.Told == nil {
		window.Told = t.Floor // from the beginning what is retained is told; what is retained no longer, later, is missing
	}
	left, err := w.cut(page, window.Head)
	if err != nil {
		*page = change.Page{}
		return err
	}
	for i := range page.Events {
		e := &page.Events[i]
		e.At = window.Place(e.Cursor, window.Head)
		if plan.Later(t.Floor, w.since()) { // what was written before the floor is in no mask
			e.Written = e.Written.AnyColumn()
		}
	}
	if page.More && !left {
		return nil
	}
	end := change.Cursor(w.table.Plan.AppendCursor(nil, [][]byte{window.Head}, nil))
	page.More = left || plan.Later(t.Head, window.Head)
	if left || w.Head != nil { // a row may have left the window before its page was read
		end = window.End(end)
	}
	if !end.Equal(w.after) {
		page.To = end
	}
	return nil
}

// cut takes what comes after a window's end out of its page, and reports whether there was any: rows that were written
// between what the page asked first and what it read. They may have been in the window, and come with the next one.
func (w *Window) cut(page *change.Page, head []byte) (left bool, err error) {
	for n := len(page.Events); n > 0; n = len(page.Events) {
		in, err := w.table.Plan.Within(page.Events[n-1].Cursor)
		if err != nil {
			return false, err
		}
		if !plan.Later(in.At, head) {
			break
		}
		page.Events, left = page.Events[:n-1], true
	}
	return left, nil
}

// After selects the engine's own changes after a position, to count them: in the transaction of a page.
func (t Table) After(at change.Cursor) (*keyset.Selection, keyset.Condition, error) {
	within, err := t.Plan.Within(at)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	sel := t.Plan.Sel
	sel.From = t.Plan.Table.Changes.Newer
	since, ignored := numberOf(within.At), new(string)
	if !within.Whole {
		since = max(since-1, 0)
	}
	return &sel, func(b *keyset.Builder, _ *keyset.Selection) {
		transact(b, t.Plan, since, -1, ignored)
		b.Add("1 = 1")
	}, nil
}
