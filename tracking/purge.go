package tracking

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
)

// Reader is one position in a change table, as conditions on a change.
type Reader struct {
	// Passed says that the change was delivered before the position.
	Passed string
	// Own says that it may have been delivered although it was not passed; "" where none is.
	Own string
}

// Purge says what it takes to remove the keys from a change table whose rows are gone, as far as everybody was told, or
// the deletes are older than retention. The keys of rows that are there stay: they are no more than the table has.
//
// The floor comes first, so that a poller that nobody spoke of, or nobody waited for, and that lags, finds a gap
// and no silence.
func Purge(ctx context.Context, to engine.Connection, table, name, whose string, readers []Reader,
	retention time.Duration) (w Work, err error) {
	return w, ask(ctx, to, func(conn *sql.Conn) error {
		f, err := find(ctx, to.Dialect, conn, table, name, whose, Writes{})
		if err != nil {
			return err
		}
		if f.own == nil {
			return Missing(f.changes)
		}
		w = PurgeOf(to.Dialect, f.changes, readers, retention)
		return nil
	})
}

// PurgeOf is Purge of a change table that is there.
func PurgeOf(d engine.Dialect, c *engine.ChangeTable, readers []Reader, retention time.Duration) Work {
	s := d.Syntax()
	aging, seconds := s.Tracking.Aging, int64(retention/time.Second)
	changes, state := c.In(s.Quote, c.Name), c.In(s.Quote, c.State())
	version, floor := changes+"."+s.Quote(engine.ChangeVersion), s.Quote(engine.StateFloor)
	if s.Tracking.Snapshots {
		floor = s.Quote(engine.StatePurged)
	}
	same := make([]string, len(c.Key))
	for i, k := range c.Key {
		same[i] = "t." + s.Quote(k) + " = " + changes + "." + s.Quote(k)
	}
	told := make([]string, len(readers))
	for i, r := range readers {
		aged := version + " < " + aging.Before(c, seconds)
		if r.Own != "" {
			aged += " AND NOT (" + r.Own + ")"
		}
		told[i] = "(" + r.Passed + " OR " + aged + ")"
	}
	gone := strings.Join(told, "\n\tAND ") + "\n\tAND NOT EXISTS (SELECT 1 FROM " + c.Of + " AS t WHERE " +
		strings.Join(same, " AND ") + ")"
	var statements []string
	if aging.Mark != nil {
		statements = aging.Mark(c, seconds)
	}
	statements = append(statements,
		"UPDATE "+state+" SET "+floor+" = (SELECT "+version+" FROM "+changes+" WHERE "+gone+
			"\n\tORDER BY "+version+" DESC LIMIT 1)\nWHERE EXISTS (SELECT 1 FROM "+changes+" WHERE "+version+" > "+
			floor+" AND "+gone+")")
	return Work{Engine: s.Name, Changes: c, AtOnce: s.Tracking.AtOnce,
		Statements: s.Tracking.Together(append(statements, "DELETE FROM "+changes+" WHERE "+gone))}
}
