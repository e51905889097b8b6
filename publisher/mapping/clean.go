package mapping

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
)

// Cleanable: only a mapped table that says when a row was published can be cleaned up by age.
func (m *mapped) Cleanable() error {
	switch {
	case m.sql.deletes:
		return fmt.Errorf("%w: %s=delete deletes rows when they are published: there is nothing to clean up",
			poller.ErrConfig, setting(optionOnPublished))
	case m.sql.publishedAt == nil:
		return fmt.Errorf("%w: the mapped table does not say when a row was published, so that a clean-up by age cannot know what is old: set %s, or "+
			"clean the table up by its own means", poller.ErrConfig, rolePublishedAt.setting())
	}
	return nil
}

// Clean looks at the next rows in order and deletes by their ids what is old enough, and then the entries of events
// that are gone. What was discarded stays: the table does not say so, and the entry is all that keeps it from being
// published.
func (m *mapped) Clean(ctx context.Context, after string, chunk int) (deleted int64, last string, err error) {
	place, id, _ := strings.Cut(after, positionBreak)
	var old []string
	rows, young := 0, 0
	err = m.db.Do(ctx, "look for published events to delete", func(ctx context.Context, q statement.Querier) error {
		old, rows, young = nil, 0, 0
		return m.sql.cleanLook(place, id, m.cfg.Retention.Milliseconds(), chunk).Each(ctx, q,
			func(scan func(...any) error) (bool, error) {
				var event, at string
				var isOld, isYoung int
				if err := scan(&event, &at, &isOld, &isYoung); err != nil {
					return false, err
				}
				if isOld == 1 {
					old = append(old, event)
				}
				rows, young, last = rows+1, young+isYoung, at+positionBreak+event
				return true, nil
			})
	})
	if err != nil {
		return 0, "", err
	}
	for part := range slices.Chunk(old, m.chunk) {
		var n int64
		err := m.db.TxLow(ctx, "delete published events", func(ctx context.Context, q statement.Querier,
			prefix string) error {
			if n, err = m.sql.cleanDelete(prefix, part, m.cfg.Retention.Milliseconds()).Exec(ctx, q); err != nil {
				return err
			}
			_, err = m.sql.forget(part).Exec(ctx, q)
			return err
		})
		deleted += n
		if err != nil {
			return deleted, "", err
		}
	}
	if rows < chunk || len(old) == 0 && young > 0 {
		last = ""
	}
	return deleted, last, nil
}

// cleanLook reads the next rows: whether each is to be deleted, and whether it was published within the retention.
// Where rows of the second kind begin, and there are none of the first, the old ones end.
func (q *writer) cleanLook(place, id string, retention int64, chunk int) *statement.Statement {
	published := q.column(q.publishedAt, "o")
	s := q.db.Statement("SELECT ", q.text(&q.id), ", ", q.place(), ", CASE WHEN ", q.isDone("o"), " AND ", published,
		" < ")
	s.Add(q.syntax.Now(q.publishedAt, s.Arg(retention)), " THEN 1 ELSE 0 END, CASE WHEN ", q.isDone("o"), " AND ",
		published, " >= ")
	s.Add(q.syntax.Now(q.publishedAt, s.Arg(retention)), " THEN 1 ELSE 0 END FROM ", q.table, " o WHERE 1 = 1")
	if place != "" {
		q.follows(s, place, id)
	}
	return s.Add(" ORDER BY ", q.ordered(), q.db.Limit(s.Arg(chunk), 0))
}

func (q *writer) cleanDelete(prefix string, ids []string, retention int64) *statement.Statement {
	s := q.db.Statement(prefix, "DELETE FROM ", q.table, " WHERE ")
	q.oneOf(s, q.table, ids)
	return s.Add(" AND ", q.isDone(q.table), " AND ", q.column(q.publishedAt, q.table), " < ",
		q.syntax.Now(q.publishedAt, s.Arg(retention)))
}
