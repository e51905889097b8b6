package source

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// builtInPages reads what the engine tracks by itself, in windows as changePages does. Each page is one round trip and
// one snapshot, which also says how far the engine has come and from where its changes are complete. So every page is
// held against a gap, the end of a window is known with its last page, and a poll for which nothing was committed reads
// no changes at all.
//
// The position also moves with polls that find nothing, up to where the engine had come. A table that nobody writes to
// would else fall behind what is retained, and a gap could not be told from that.
type builtInPages struct{ rowPages }

// builtIn is the catalog of a table whose changes the engine tracks. It proves that they can be read.
func (c *Cursor) builtIn(ctx context.Context, s *session, t *engine.Table,
	changes *engine.ChangeTable) (engine.Table, error) {
	if s.server.ReadOnly {
		return *t, fmt.Errorf("%w: source__mode=changetracking: the server at hand is a readable secondary, or its database is "+
			"read-only, where no changes are tracked: connect to the primary (without ApplicationIntent=ReadOnly)",
			poller.ErrConfig)
	}
	own := c.dialect.Syntax().Tracking
	faults, err := own.Faults(ctx, s.conn, changes)
	switch {
	case err != nil:
		return *t, err
	case len(faults) > 0:
		return *t, tracking.Off(changes, faults)
	}
	joined, err := tracking.Join(c.dialect, t, tracking.BuiltIn(own.BuiltIn, t), changes)
	if err != nil {
		return *t, err
	}
	told, err := tell(ctx, s, own.BuiltIn, changes)
	joined.Identity, joined.Identify = told.table, nil // each page tells it
	return joined, err
}

func (w builtInPages) start(ctx context.Context, s *session) (change.Cursor, error) {
	if w.c.cfg.Start == "latest" {
		return w.latest(ctx, s)
	}
	return w.rowPages.start(ctx, s)
}

func (w builtInPages) latest(ctx context.Context, s *session) (change.Cursor, error) {
	t, err := w.c.tell(ctx, s, w.p)
	if err != nil {
		return nil, err
	}
	return w.p.AppendCursor(nil, [][]byte{t.head}, nil), nil
}

func (w builtInPages) statements(limit int) (first, next keyset.Statement) {
	p := w.p
	own := newBuiltInWindow(p, plan.Window{}, nil, false)
	sel, also := own.selection(p, nil)
	return sel.Page(limit, keyset.Span{Also: also}), sel.Page(limit, keyset.Span{After: len(sel.Order), Also: also})
}

// count reads the changes after the position alone, in the transaction of a page: it waits for no writer. A range with
// an end is counted as any other.
func (w builtInPages) count(r change.Range, most int) (st keyset.Statement, args []any, err error) {
	if !r.UpTo.IsStart() {
		return w.rowPages.count(r, most)
	}
	within, err := w.p.Within(r.After)
	if err != nil {
		return st, nil, err
	}
	sel := w.p.Sel
	sel.From = w.p.Table.Changes.Newer
	since, ignored := numberOf(within.At), new(string)
	if !within.Whole {
		since = max(since-1, 0)
	}
	return countOf(w.p, &sel, r, most, func(b *keyset.Builder, _ *keyset.Selection) {
		transact(b, w.p, since, -1, ignored)
		b.Add("1 = 1")
	})
}

// explain has nothing to tell: the changes have no index that one could make.
func (w builtInPages) explain(context.Context, *session, int) (string, error) { return "", nil }

// told is what the engine says of its tracking.
type told struct {
	head, floor []byte // versions: how far it has come, and up to which changes may be missing
	table       string // identifies the table, and the life of its tracking
}

// parseTold reads it. Where nothing is tracked any more the catalog has to be asked again: it says why.
func parseTold(text string) (told, error) {
	parts := strings.Split(text, "|")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return told{}, fmt.Errorf("%w: the server told of its change tracking %q", engine.ErrSchemaChanged, text)
	}
	var t told
	for i, into := range []*[]byte{&t.head, &t.floor} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return told{}, fmt.Errorf("%w: the server told of its change tracking %q", engine.ErrSchemaChanged, text)
		}
		*into = change.AppendInt(nil, n)
	}
	t.table = parts[2]
	return t, nil
}

// tell asks the engine alone.
func (c *Cursor) tell(ctx context.Context, s *session, p *plan.Plan) (told, error) {
	return tell(ctx, s, p.BuiltIn(), p.Table.Changes)
}

func tell(ctx context.Context, s *session, b *engine.BuiltIn, changes *engine.ChangeTable) (told, error) {
	var text string
	if err := s.conn.QueryRowContext(ctx, b.Tell(changes)).Scan(&text); err != nil {
		return told{}, fmt.Errorf("read how far changes are tracked: %w", err)
	}
	return parseTold(text)
}

// newBuiltInWindow is the window of a page. After a position within a version the rest of that is to come, too.
func newBuiltInWindow(p *plan.Plan, w plan.Window, after change.Cursor, fromTold bool) *changeWindow {
	if w.Head == nil && w.At != nil && !w.Whole {
		w.Since = change.AppendInt(nil, max(numberOf(w.At)-1, 0))
		w.Told = w.Since
	}
	return &changeWindow{Window: w, after: after, builtIn: p.BuiltIn(), fromTold: fromTold}
}

func (w *changeWindow) isBuiltIn() bool { return w != nil && w.builtIn != nil }

// selection is what a page reads, and under which conditions.
func (w *changeWindow) selection(p *plan.Plan, also []keyset.Condition) (*keyset.Selection, []keyset.Condition) {
	if !w.isBuiltIn() {
		return &p.Sel, also
	}
	sel := p.Sel
	sel.From = p.Table.Changes.Newer
	return &sel, append(also[:len(also):len(also)], func(b *keyset.Builder, s *keyset.Selection) { w.bound(b, s, p) })
}

// bound keeps a page within its window, and puts the transaction around it. A window's first page has no end: what was
// committed after the engine said how far it had come shows which rows have left the window in between.
func (w *changeWindow) bound(b *keyset.Builder, s *keyset.Selection, p *plan.Plan) {
	version := &p.Sel.Columns[p.Tracked.Version]
	read := int64(-1)
	if w.Head == nil && w.Whole {
		read = numberOf(w.At)
	}
	since := w.Since
	if w.fromTold {
		since = w.Told // what was inserted, or which columns were written, since then may still have to be told
	}
	transact(b, p, numberOf(since), read, &w.told)
	if w.Head == nil {
		b.Add("1 = 1")
		return
	}
	b.Add(s.Column(*version) + " <= ")
	b.Value(version, numberOf(w.Head))
}

// transact puts the transaction of a page around a statement. What the engine tells comes into told.
func transact(b *keyset.Builder, p *plan.Plan, since, read int64, told *string) {
	own := p.BuiltIn()
	in := func(name string, value any) { // they are named in the texts around
		b.Own(engine.Column{Name: name, Type: p.Sel.Columns[p.Tracked.Version].Type}, sql.Named(name, value))
	}
	in(own.Since, since)
	in(own.Read, read)
	b.Own(engine.Column{Name: own.Told, Type: "nvarchar(max) OUTPUT"}, sql.Named(own.Told, sql.Out{Dest: told}))
	b.Before, b.After = own.Before(p.Table.Changes), own.After(p.Table.Changes)
}

// numberOf is a version as a number: 0 for none, which is before every other.
func numberOf(version []byte) int64 {
	n, err := strconv.ParseInt(strings.Trim(string(version), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// placeBuiltIn gives the events of a page their positions, and says where it ends. It refuses a page whose changes are
// not complete.
func (w *changeWindow) placeBuiltIn(ctx context.Context, c *Cursor, p *plan.Plan, page *change.Page) error {
	t, err := w.hear(ctx, c, p)
	if err == nil {
		read := w.Window
		if w.fromTold && w.Told != nil && plan.Later(w.At, w.Told) {
			read.At, read.Whole = w.Told, true // what was inserted or written has to be known from there on
		}
		err = cmp.Or(c.outside(p, w.after, &w.Window, t.head, t.floor), c.belowFloor(p, w.after, &read, t.floor))
	}
	if err != nil {
		*page = change.Page{}
		return err
	}
	page.Table = t.table
	window := w.Window
	if window.Head == nil {
		window.Head = t.head
	}
	if w.fromTold && window.Told == nil {
		window.Told = t.floor // from the beginning what is retained is told; what is retained no longer, later, is missing
	}
	left, err := w.cut(p, page, window.Head)
	if err != nil {
		*page = change.Page{}
		return err
	}
	for i := range page.Events {
		page.Events[i].At = window.Place(page.Events[i].Cursor, window.Head)
	}
	if page.More && !left {
		return nil
	}
	end := change.Cursor(p.AppendCursor(nil, [][]byte{window.Head}, nil))
	page.More = left || plan.Later(t.head, window.Head)
	if left || w.Head != nil && (page.More || w.fromTold) { // a row may have left the window before its page was read
		end = window.End(end)
	}
	if !end.Equal(w.after) {
		page.To = end
	}
	return nil
}

// cut takes what comes after a window's end out of its page, and reports whether there was any: rows that were written
// between what the page asked first and what it read. They may have been in the window, and come with the next one.
func (w *changeWindow) cut(p *plan.Plan, page *change.Page, head []byte) (left bool, err error) {
	for n := len(page.Events); n > 0; n = len(page.Events) {
		in, err := p.Within(page.Events[n-1].Cursor)
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

// hear is what the engine told beside the page, or says now where the reading was broken off before that.
func (w *changeWindow) hear(ctx context.Context, c *Cursor, p *plan.Plan) (t told, err error) {
	if w.told != "" {
		return parseTold(w.told)
	}
	err = c.sessions.run(ctx, func(ctx context.Context, s *session) error {
		t, err = c.tell(ctx, s, p)
		return err
	})
	return t, err
}

// trackedAnew is the gap of a table, or of a tracking, that is not the one that the position was read in. What is not
// known on one side differs from nothing.
func (c *Cursor) trackedAnew(p *plan.Plan, was, is string) error {
	a, b := strings.Split(was, "/"), strings.Split(is, "/")
	for i := range max(len(a), len(b)) {
		if engine.Differ(a, b, i) {
			return fmt.Errorf("%w: %s: changes may be missing in %s (%s, now %s): the table was made anew or truncated, or its "+
				"tracking was switched off and on again", poller.ErrGap, c.name(), p.Table.Changes.Title(), was, is)
		}
	}
	return nil
}
