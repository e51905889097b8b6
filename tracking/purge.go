package tracking

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
)

// Reader is one position in a change table, as conditions on a change.
type Reader struct {
	// Passed says that the change was delivered before the position.
	Passed string
	// At says that it has the position's own version, and Own that it may have been delivered although it was not passed,
	// At among them; both "" where none is.
	At, Own string
	// Number is, of a history, that of the last change that is not needed any more; 0 for none. The others are "" then.
	// Parked says that the next one is parked, and is needed however old it is: that it is gone would show as no gap.
	Number int64
	Parked bool
}

// Keep says how long deletes wait for a reader that has not delivered them.
type Keep struct {
	For time.Duration
	// Most is how many wait, the newest ones; 0: any number.
	Most int
}

// Purge says what it takes to remove the keys from a change table whose rows are gone, as far as everybody was told, or
// the deletes are not kept any longer. The keys of rows that are there stay: they are no more than the table has.
//
// The floor comes first, so that a poller that nobody spoke of, or nobody waited for, and that lags, finds a gap
// and no silence.
func Purge(ctx context.Context, to engine.Connection, table, name, whose string, writes Writes, readers []Reader,
	keep Keep) (w Work, err error) {
	return w, ask(ctx, to, func(conn *sql.Conn) error {
		f, err := find(ctx, to.Dialect, conn, table, name, whose, writes.kind(), Of)
		if err != nil {
			return err
		}
		if f.own == nil {
			return Missing(f.changes)
		}
		if f.changes.History != nil {
			w, err = purgeHistory(ctx, conn, to.Dialect, f.changes, readers, keep.For)
			return err
		}
		s, last := to.Dialect.Syntax(), ""
		if keep.Most > 0 {
			err := conn.QueryRowContext(ctx, beyond(&s, f.changes, keep.Most)).Scan(&last)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("count the deletes in %s: %w", f.changes.Name, err)
			}
		}
		w = PurgeOf(to.Dialect, f.changes, readers, keep.For, last)
		return nil
	})
}

// deleted is the condition of a change whose row is gone.
func deleted(s *engine.Syntax, c *engine.ChangeTable) string {
	changes, same := c.In(s.Quote, c.Name), make([]string, len(c.Key))
	for i, k := range c.Key {
		same[i] = "t." + s.Quote(k) + " = " + changes + "." + s.Quote(k)
	}
	return "NOT EXISTS (SELECT 1 FROM " + c.Of + " AS t WHERE " + strings.Join(same, " AND ") + ")"
}

// beyond reads the version of the newest delete that is not among so many, as a text that a literal may hold. It is
// read before the statements run: each of them would see another one where rows are deleted meanwhile, and the floor
// be below what is removed.
func beyond(s *engine.Syntax, c *engine.ChangeTable, most int) string {
	changes, version := c.In(s.Quote, c.Name), s.Quote(engine.ChangeVersion)
	return fmt.Sprintf("SELECT CONCAT(%s, '') FROM %s WHERE %s\nORDER BY %s DESC LIMIT 1 OFFSET %d", version, changes,
		deleted(s, c), version, most)
}

// PurgeOf is Purge of a change table that is there, which keeps no delete for longer than a time, and none up to the
// version last, unless that is "".
func PurgeOf(d engine.Dialect, c *engine.ChangeTable, readers []Reader, longest time.Duration, last string) Work {
	s := d.Syntax()
	aging, seconds := s.Tracking.Aging, int64(longest/time.Second)
	changes, state := c.In(s.Quote, c.Name), c.In(s.Quote, c.State())
	version, floor := changes+"."+s.Quote(engine.ChangeVersion), s.Quote(engine.StateFloor)
	if s.Tracking.Snapshots {
		floor = s.Quote(engine.StatePurged)
	}
	var over string
	if last != "" {
		// Also of Own but At, which would be a gap without a loss: the limit would wait for a poller that stands still. And
		// only what is below every open transaction, where a version is one: it would commit between the removed, and be
		// passed over.
		over = " OR " + version + " <= '" + last + "' AND " + version + " < " + aging.Before(c, 0)
	}
	told := make([]string, len(readers))
	for i, r := range readers {
		aged := version + " < " + aging.Before(c, seconds)
		if r.Own != "" {
			aged += " AND NOT (" + r.Own + ")"
		}
		told[i] = "(" + r.Passed + " OR " + aged + over
		if over != "" && r.At != "" {
			told[i] += " AND NOT (" + r.At + ")"
		}
		told[i] += ")"
	}
	gone := strings.Join(told, "\n\tAND ") + "\n\tAND " + deleted(&s, c)
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
