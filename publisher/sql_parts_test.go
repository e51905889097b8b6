package publisher

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// longest is a Syntax that notes how many rows a statement names at most.
type longest struct {
	rows.Syntax
	n int
}

func (l *longest) BySeq(s *statement.Statement, table statement.Name, column string, set func() string, seqs []int64) {
	l.n = max(l.n, len(seqs))
	l.Syntax.BySeq(s, table, column, set, seqs)
}

// TestNoStatementMarksTooManyRows: SQL Server locks the whole table for a statement that changes 5,000 rows.
func TestNoStatementMarksTooManyRows(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("A/1", "A/2", "A/3", "A/4", "A/5", "A/6")
		c := b.view()
		bounded := &longest{Syntax: c.texts.rows}
		c.texts.rows, c.texts.mostRows = bounded, 2
		o, err := c.open(t.Context())
		b.must(err)
		b.lead("me", time.Minute)
		var refs []event.Ref
		found := b.all()
		for _, r := range found {
			refs = append(refs, r.Ref)
		}
		b.must(o.events.Settle(t.Context(), "me", 1, event.Marks{Published: refs[:3]}))
		b.must(o.events.Settle(t.Context(), "me", 1, event.Marks{Published: refs[3:5],
			Retried: []event.Marked{markedRow(&found[2])},
			Failed:  []event.Failure{{Marked: markedRow(&found[5]), Attempts: 1, Reason: "refused"}}}))
		b.wantStates(event.Published, event.Published, event.Published, event.Published, event.Published, event.Failed)
		if bounded.n != 2 {
			t.Errorf("a statement names %d rows, not 2 at most", bounded.n)
		}
	})
}
