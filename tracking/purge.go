package tracking

import (
	"context"
	"database/sql"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// Purge says what it takes to remove the keys from a change table whose rows are gone, as far as everybody was told:
// passed are conditions that every such change meets. The keys of rows that are there stay: they are no more than the
// table has.
//
// The floor comes first, so that a poller that nobody spoke of, and that is behind, finds a gap and no silence.
func Purge(ctx context.Context, to engine.Connection, table, name, whose string, passed []string) (w Work, err error) {
	return w, ask(ctx, to, func(conn *sql.Conn) error {
		f, err := find(ctx, to.Dialect, conn, table, name, whose)
		if err != nil {
			return err
		}
		if f.own == nil {
			return Missing(f.changes)
		}
		w = PurgeOf(to.Dialect, f.changes, passed)
		return nil
	})
}

// PurgeOf is Purge of a change table that is there.
func PurgeOf(d engine.Dialect, c *engine.ChangeTable, passed []string) Work {
	s := d.Syntax()
	changes, state := c.In(s.Quote, c.Name), c.In(s.Quote, c.State())
	version, floor := changes+"."+s.Quote(engine.ChangeVersion), s.Quote(engine.StateFloor)
	same := make([]string, len(c.Key))
	for i, k := range c.Key {
		same[i] = "t." + s.Quote(k) + " = " + changes + "." + s.Quote(k)
	}
	gone := strings.Join(passed, "\n\tAND ") + "\n\tAND NOT EXISTS (SELECT 1 FROM " + c.Of + " AS t WHERE " +
		strings.Join(same, " AND ") + ")"
	return Work{Engine: s.Name, Changes: c, AtOnce: s.Tracking.AtOnce, Statements: s.Tracking.Together([]string{
		"UPDATE " + state + " SET " + floor + " = (SELECT " + version + " FROM " + changes + " WHERE " + gone +
			"\n\tORDER BY " + version + " DESC LIMIT 1)\nWHERE EXISTS (SELECT 1 FROM " + changes + " WHERE " + version + " > " +
			floor + " AND " + gone + ")",
		"DELETE FROM " + changes + " WHERE " + gone,
	})}
}
