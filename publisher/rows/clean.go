package rows

import (
	"context"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// What cleanLook says of a row.
const (
	young = iota // this row, and with it what comes after it, is within the retention
	kept         // it is to stay: a dead letter, or what waits for one
	old          // it is to be deleted
)

// Clean looks at the next rows in their order, which needs no index of its own, and deletes what is old enough among
// them. Rows that stay are passed. It ends where the young rows begin: nothing after them was published before. (In
// another framework's table no row tells that it was written long ago: one that stays is no reason to go on.) A table
// without a number that grows is passed from one end to the other, by its id. What was discarded of another framework's
// table stays: the table does not say so, and the entry is all that keeps it from being published.
func (t *Table) Clean(ctx context.Context, after string, chunk int) (deleted int64, last string, err error) {
	var found [old + 1]int
	err = t.db.Do(ctx, "look for published events to delete", func(ctx context.Context, q statement.Querier) error {
		found = [old + 1]int{}
		return t.cleanLook(after, chunk).Each(ctx, q, func(scan func(...any) error) (bool, error) {
			var what int
			if err := scan(&last, &what); err != nil {
				return false, err
			}
			found[what]++
			return true, nil
		})
	})
	if err != nil {
		return 0, "", err
	}
	if found[old] > 0 {
		err = t.db.TxLow(ctx, "delete published events", func(ctx context.Context, q statement.Querier,
			prefix string) error {
			deleted, err = t.cleanDelete(prefix, after, last).Exec(ctx, q)
			return err
		})
	}
	ends := found[old] == 0 && found[young] > 0 && (t.side == "" && found[kept] == 0 || t.side != "" && t.Seq != nil)
	if ends || found[young]+found[kept]+found[old] < chunk {
		last = ""
	}
	return deleted, last, err
}

// cleanLook reads the next rows. Of an own table a row is young by when it was written; another's need not tell that.
func (t *Table) cleanLook(after string, chunk int) *statement.Statement {
	w := &t.o
	s := t.db.Statement("SELECT ", w.stepPlace, ", CASE WHEN ", w.done, " AND ", w.publishedAt, " < ")
	s.Add(t.ago(s, t.PublishedAt, t.cfg.Retention), " THEN 2 WHEN ")
	if t.side == "" {
		s.Add(w.createdAt, " >= ")
	} else {
		s.Add(w.done, " AND ", w.publishedAt, " >= ")
	}
	s.Add(t.ago(s, t.PublishedAt, t.cfg.Retention), " THEN 0 ELSE 1 END FROM ", t.outbox.String(), " o")
	if after != "" {
		s.Add(" WHERE ", w.step, " > ", t.stepAt(s, after))
	}
	return s.Add(" ORDER BY ", w.step, t.db.Limit(s.Arg(chunk), 0))
}

// CountOld counts what a clean-up would delete now. It reads the whole table.
func (t *Table) CountOld(ctx context.Context) (n int64, err error) {
	err = t.db.Do(ctx, "count published events to delete", func(ctx context.Context, q statement.Querier) error {
		return t.countOld().Row(ctx, q, &n)
	})
	return n, err
}

func (t *Table) countOld() *statement.Statement {
	s := t.db.Statement("SELECT COUNT(*) FROM ", t.outbox.String(), " o WHERE ", t.o.done, " AND ", t.o.publishedAt, " < ")
	return s.Add(t.ago(s, t.PublishedAt, t.cfg.Retention))
}

// cleanDelete deletes what is out of retention after where a page ended, up to and including where another did.
func (t *Table) cleanDelete(prefix, after, last string) *statement.Statement {
	var w words
	if t.side == "" {
		w = ownWords(t.db, t.syntax, "")
	} else {
		w = t.words(t.outbox.String())
	}
	s := t.db.Statement(prefix, "DELETE FROM ", t.outbox.String(), " WHERE ")
	if after != "" {
		s.Add(w.step, " > ", t.stepAt(s, after), " AND ")
	}
	s.Add(w.step, " <= ", t.stepAt(s, last), " AND ", w.done, " AND ", w.publishedAt, " < ")
	return s.Add(t.ago(s, t.PublishedAt, t.cfg.Retention))
}
