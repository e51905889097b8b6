package tracking

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// A history is a change table that keeps every change, and with each the row that was written, or deleted. Its rows
// never change: package source reads them as those of any table, in cursor mode, by the number of the change.

// longestRecorded is the longest name of a column that is recorded with the row before: PostgreSQL allows 63 bytes.
const longestRecorded = 63 - len(engine.HistoryWas)

// PurgedAfter is for how long a change stays that everybody was told of. A transaction that is open as long, and then
// commits, may find its changes purged before a poller reads them.
const PurgedAfter = 24 * time.Hour

// kind leaves out which writes count: what was installed is looked for.
func (w Writes) kind() Writes {
	w.Changed, w.Ignored = nil, ""
	return w
}

func configFault(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{poller.ErrConfig}, args...)...)
}

// record has a history keep the columns of a table.
func record(d engine.Dialect, c *engine.ChangeTable, t *engine.Table, writes Writes) error {
	if d.Syntax().Tracking.Histories == nil {
		return configFault("source__every_change: the change tracking of %s knows the last change of each row only: remove it; "+
			"an outbox that triggers write tells every change (docs/outbox-writing.md)", d.Syntax().Name)
	}
	h := &engine.History{Before: writes.Before, Chosen: len(writes.Columns) > 0}
	asked := slices.Concat(writes.Columns, writes.OrderKey)
	for _, name := range asked {
		if !slices.ContainsFunc(t.Columns, func(col engine.Column) bool { return strings.EqualFold(col.Name, name) }) {
			return configFault("source__columns, source__order_key: table %s has no column %q", t.Name, name)
		}
	}
	asked = slices.Concat(asked, t.PrimaryKey, c.Changed)
	for i := range t.Columns {
		col := &t.Columns[i]
		switch is := func(name string) bool { return strings.EqualFold(name, col.Name) }; {
		case strings.HasPrefix(strings.ToLower(col.Name), "rowrelay_"):
			return refused("found reserved column name(s) in table %s: %s: rename them", t.Name, col.Name)
		case col.Unwatched && slices.ContainsFunc(asked, is):
			return configFault("source__columns, source__order_key: %q is computed when it is read, and no trigger sees its value: "+
				"leave it out, or have the table store it", col.Name)
		case col.Unwatched, h.Chosen && !slices.ContainsFunc(asked, is):
			continue
		case writes.Before && len(col.Name) > longestRecorded:
			return configFault("source__before_image: the name of column %q is longer than %d bytes, and %s stands before it in "+
				"the history: leave it out by source__columns", col.Name, longestRecorded, engine.HistoryWas)
		}
		h.Columns = append(h.Columns, col.Name)
	}
	c.History = h
	return nil
}

// renewHistory returns the statements that have a history record the columns that are asked for, none where it does.
// What it records beside these stays, for others that read it, unless exact; what the table has no more goes.
func renewHistory(ctx context.Context, d engine.Dialect, conn *sql.Conn, f *found, exact bool) ([]string, error) {
	c, h := f.changes, f.changes.History
	h.Has = []string{}
	for i := range f.own.Columns {
		name := f.own.Columns[i].Name
		if was := strings.HasPrefix(name, engine.HistoryWas); was || !strings.HasPrefix(name, "rowrelay_") {
			h.Has, h.Before = append(h.Has, name), h.Before || was
		}
	}
	asked := h.Columns
	h.Columns = nil
	for i := range f.table.Columns {
		name := f.table.Columns[i].Name
		if slices.Contains(asked, name) || !exact && slices.Contains(h.Has, name) {
			h.Columns = append(h.Columns, name)
		}
	}
	t := d.Syntax().Tracking
	declared, err := t.Declare(ctx, conn, c)
	if err != nil {
		return nil, fmt.Errorf("read the table's columns: %w", err)
	}
	others, err := NotFirst(ctx, d, conn, c)
	if err != nil {
		return nil, err
	}
	names, _ := c.Wanted(declared)
	if others == "" && slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(h.Has))) {
		return nil, nil
	}
	return t.Histories.Install(c, declared, false), nil
}

// NotFirst warns of triggers that fire before those of a history; "" for none.
func NotFirst(ctx context.Context, d engine.Dialect, conn *sql.Conn, c *engine.ChangeTable) (warning string,
	err error) {
	ahead := d.Syntax().Tracking.Histories.Ahead
	if ahead == nil {
		return "", nil
	}
	names, err := ahead(ctx, conn, c)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return fmt.Sprintf("triggers that were made after those of the history fire before them (%s): what they write to %s comes "+
		"before the write that they follow, until rowrelay track install %s, which misses no change",
		strings.Join(names, ", "), c.Of, c.Poller), nil
}

// columnOf finds a column of a table; nil for none.
func columnOf(t *engine.Table, name string) *engine.Column {
	at := slices.IndexFunc(t.Columns, func(col engine.Column) bool { return col.Name == name })
	if at < 0 {
		return nil
	}
	return &t.Columns[at]
}

// fitsHistory refuses a history that is not that of its table any more.
func fitsHistory(t, own *engine.Table, c *engine.ChangeTable) error {
	if !holds(own, engine.HistoryChange, engine.HistoryOperation, engine.HistoryWritten) {
		return foreign(c, c.Name)
	}
	for i := range t.Columns {
		col := &t.Columns[i]
		switch mine := columnOf(own, col.Name); {
		case mine == nil && slices.Contains(t.PrimaryKey, col.Name):
			return unfit(c, fmt.Sprintf("it has no column %q of the key", col.Name))
		case mine != nil && !fit(mine, col):
			return unfit(c, fmt.Sprintf("its %q is %s, and the table's is %s", col.Name, mine.Type, col.Type))
		}
	}
	return nil
}

// Kept returns the table whose rows are changes: the history, with its own columns after those of the table. own is
// what the catalog says of the history.
func Kept(t, own *engine.Table, c *engine.ChangeTable) (engine.Table, error) {
	if err := fitsHistory(t, own, c); err != nil {
		return engine.Table{}, err
	}
	kept := *own
	kept.Name, kept.History, kept.Columns = t.Name, c, nil
	c.History.Table = t
	kept.Identity, kept.Identify = t.Identity, t.Identify // of a table that a dump brings back no change is recorded
	kept.Warnings = slices.Concat(t.Warnings, own.Warnings)
	var was, missing []string
	add := func(names ...string) {
		for _, name := range names {
			if mine := columnOf(own, name); mine != nil {
				kept.Columns = append(kept.Columns, *mine)
			}
		}
	}
	for i := range t.Columns {
		name := t.Columns[i].Name
		if columnOf(own, name) == nil && slices.Contains(c.History.Columns, name) {
			missing = append(missing, name)
		}
		if t.Columns[i].Unwatched && !c.History.Chosen {
			kept.Warnings = append(kept.Warnings, fmt.Sprintf("%q is computed when it is read, and no trigger sees its value: no "+
				"event has it", name))
		}
		add(name)
		was = append(was, engine.HistoryWas+name)
	}
	add(engine.HistoryChange, engine.HistoryOperation, engine.HistoryWritten, engine.HistoryContext)
	n := len(kept.Columns)
	add(was...)
	lacks := func(what string) string {
		return fmt.Sprintf("the history %s does not record %s: rowrelay track install %s has it do so from then on, and no "+
			"change is missed", c.Name, what, c.Poller)
	}
	switch {
	case len(missing) > 0 && c.History.Chosen:
		return engine.Table{}, configFault("source__columns: %s", lacks(strings.Join(missing, ", ")))
	case len(missing) > 0:
		kept.Warnings = append(kept.Warnings, lacks(strings.Join(missing, ", ")))
	case c.History.Before && len(kept.Columns) == n:
		return engine.Table{}, configFault("source__before_image: %s", lacks("the row before"))
	}
	return kept, nil
}

// unfit says that a history is not that of its table any more.
func unfit(c *engine.ChangeTable, why string) error {
	return configFault("the history %s does not fit %s: %s. Alter the history's column as docs/change-tracking.md says; or make "+
		"it anew, without the changes that were not delivered: rowrelay track uninstall %s, then rowrelay track install %s, "+
		"then rowrelay state accept-gap %s", c.Name, c.Of, why, c.Poller, c.Poller, poller.AnyDocument)
}

// countHistory reads what a history holds.
func (s *Status) countHistory(ctx context.Context, conn *sql.Conn, syntax *engine.Syntax, c *engine.ChangeTable) error {
	number, operation := syntax.Quote(engine.HistoryChange), syntax.Quote(engine.HistoryOperation)
	var low, high, at sql.NullString
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(CASE WHEN "+operation+" = 'delete' THEN 1 END), MIN("+number+
		"), MAX("+number+"), "+Floor(syntax, c)+" FROM "+c.In(syntax.Quote, c.Name)).
		Scan(&s.Rows, &s.Deleted, &low, &high, &at)
	if err != nil {
		return fmt.Errorf("count the changes: %w", err)
	}
	s.Oldest, s.Newest, s.Floor = low.String, high.String, at.String
	if !at.Valid {
		s.Faults = append(s.Faults, "its state has no row")
	}
	return nil
}

// LastOlder is the number of the last change that is older than an age; 0 where there is none. It reads the younger
// ones.
func LastOlder(ctx context.Context, conn *sql.Conn, s *engine.Syntax, c *engine.ChangeTable,
	than time.Duration) (last int64, err error) {
	number := s.Quote(engine.HistoryChange)
	err = conn.QueryRowContext(ctx, "SELECT COALESCE((SELECT "+number+" FROM "+c.In(s.Quote, c.Name)+" WHERE NOT ("+
		s.Tracking.Histories.Younger(int64(than/time.Second))+")\n\tORDER BY "+number+" DESC LIMIT 1), 0)").Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("read how old the changes in %s are: %w", c.Name, err)
	}
	return last, nil
}

// purgedAtOnce is how many changes one statement removes: a table of many millions is not locked until all are gone.
const purgedAtOnce = 50_000

// purgeHistory says what it takes to remove the changes that everybody was told of, a day after they were made, and
// those that are not kept any longer. The floor is committed first: a purge that ends in between is gone on with by
// the next one.
func purgeHistory(ctx context.Context, conn *sql.Conn, d engine.Dialect, c *engine.ChangeTable, readers []Reader,
	longest time.Duration) (w Work, err error) {
	s := d.Syntax()
	history, number := c.In(s.Quote, c.Name), s.Quote(engine.HistoryChange)
	w = Work{Engine: s.Name, Changes: c}
	// The last change before the first that is younger.
	before := func(age time.Duration) (last int64, err error) {
		err = conn.QueryRowContext(ctx, "SELECT COALESCE((SELECT "+number+" - 1 FROM "+history+" WHERE "+
			s.Tracking.Histories.Younger(int64(age/time.Second))+"\n\tORDER BY "+number+" LIMIT 1), (SELECT MAX("+number+
			") FROM "+history+"), 0)").Scan(&last)
		return last, err
	}
	told, err := before(PurgedAfter)
	aged := told
	if err == nil {
		aged, err = before(longest)
	}
	if err != nil {
		return w, fmt.Errorf("read how old the changes in %s are: %w", c.Name, err)
	}
	for _, r := range readers {
		if told = min(told, r.Number); r.Parked {
			aged = min(aged, r.Number)
		}
	}
	last := max(told, aged)
	floor := s.Quote(engine.StateFloor)
	w.Statements = []string{
		fmt.Sprintf("UPDATE %s SET %s = %d WHERE %s < %d", c.In(s.Quote, c.State()), floor, last, floor, last)}
	for at := int64(-1); at < last; {
		err := conn.QueryRowContext(ctx, fmt.Sprintf("SELECT COALESCE((SELECT %[1]s FROM %[2]s WHERE %[1]s > %[3]d AND "+
			"%[1]s <= %[4]d\n\tORDER BY %[1]s LIMIT 1 OFFSET %[5]d), %[4]d)", number, history, at, last, purgedAtOnce-1)).Scan(&at)
		if err != nil {
			return w, fmt.Errorf("count the changes in %s that are to be removed: %w", c.Name, err)
		}
		w.Statements = append(w.Statements, fmt.Sprintf("DELETE FROM %s WHERE %s <= %d", history, number, at))
	}
	return w, nil
}
