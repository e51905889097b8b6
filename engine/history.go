package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// The columns of a history beside those of the table, which has the row that was written, or deleted.
const (
	// HistoryChange counts the changes, HistoryOperation is insert, update or delete.
	HistoryChange    = "rowrelay_change"
	HistoryOperation = "rowrelay_operation"
	// HistoryWritten is when the change was made, in UTC; HistoryContext under which context, NULL for none.
	HistoryWritten = "rowrelay_written"
	HistoryContext = "rowrelay_context"
	// HistoryRead is, in the key of a row of the table itself, the number that changes are read after beside it.
	HistoryRead = "rowrelay_read"
	// HistoryWas begins the names of columns that have the values before an update.
	HistoryWas = "rowrelay_was_"
)

// History is what a change table records that keeps every change, and not the last of each key.
type History struct {
	// Columns are the table's that are recorded, the key among them, in the table's order.
	Columns []string
	// Before says that updates are recorded with the row before them.
	Before bool
	// Chosen says that columns were named: the others are not asked for.
	Chosen bool
	// Has are the columns of a history that is there already; nil for none.
	Has []string
	// Table is the table itself, where the history is read.
	Table *Table
}

// Recorded are the columns of the table that its change table has.
func (c *ChangeTable) Recorded() []string {
	if c.History != nil {
		return c.History.Columns
	}
	return c.Key
}

// Histories are how an engine keeps every change by triggers.
type Histories struct {
	// Install are the statements that make a history and its triggers, or make one that is there record other columns:
	// Tracking.Declare has told how all are declared. anew, where changes may have been missed, raises the floor above
	// every number that there was, and to the microseconds of the database's clock: numbers of a history that was removed
	// do not come again. Without it none is missed.
	Install func(c *ChangeTable, declared []string, anew bool) []string
	// Differ is the condition that two values are not the same, byte by byte, and NULL like any other value.
	Differ func(a, b string) string
	// Ahead names triggers of the user's that fire before those of the history: what they write to the table would be
	// recorded before the write that they follow. Nil where the history's come first whatever the user makes.
	Ahead func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Younger is the condition that a change was made in the last so many seconds.
	Younger func(seconds int64) string
}

// Wanted are the columns of a history beside its own, with how each is declared: those of the table, and those of the
// row before.
func (c *ChangeTable) Wanted(declared []string) (names, types []string) {
	for i, name := range c.History.Columns {
		names, types = append(names, name), append(types, declared[i])
	}
	if c.History.Before {
		for i, name := range c.History.Columns {
			names, types = append(names, HistoryWas+name), append(types, declared[i])
		}
	}
	return names, types
}

// Altered are the columns that a history that is there lacks, as indexes in names, and those that it has to lose.
func (h *History) Altered(names []string) (lacks []int, loses []string) {
	if h.Has == nil {
		return nil, nil
	}
	for i, name := range names {
		if !slices.Contains(h.Has, name) {
			lacks = append(lacks, i)
		}
	}
	for _, name := range h.Has {
		if !slices.Contains(names, name) {
			loses = append(loses, name)
		}
	}
	return lacks, loses
}

// Recording names the columns that a change is recorded in, and their values: row qualifies those of the row, was those
// of the row before; "" for none.
func (c *ChangeTable) Recording(quote func(string) string, row, was string) (names, values string) {
	h := c.History
	names, values = Names(quote, "", h.Columns), Names(quote, row, h.Columns)
	if was == "" || !h.Before {
		return names, values
	}
	for _, name := range h.Columns {
		names += ", " + quote(HistoryWas+name)
	}
	return names, values + ", " + Names(quote, was, h.Columns)
}

// Declared reads how the columns are declared that are recorded: text gives the table's columns with that.
func Declared(ctx context.Context, conn *sql.Conn, c *ChangeTable, text string, args ...any) ([]string, error) {
	types := map[string]string{}
	err := EachRow(ctx, conn, text, args, func(scan func(...any) error) error {
		var name, declared string
		err := scan(&name, &declared)
		types[name] = declared
		return err
	})
	if err != nil {
		return nil, err
	}
	list := make([]string, len(c.Recorded()))
	for i, name := range c.Recorded() {
		var ok bool
		if list[i], ok = types[name]; !ok {
			return nil, fmt.Errorf("%w: there is no column %q any more", ErrSchemaChanged, name)
		}
	}
	return list, nil
}
