package source

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// watermark keeps a page of rowversions below the lowest one that an open transaction may have taken, in the same round
// trip. MIN_ACTIVE_ROWVERSION() is read into a variable by a statement of its own, before the page: all transactions
// below it had ended then, so that the page's snapshot, which is taken later, shows all of their rows. Evaluated inside
// of the page's statement it could pass a row that the statement's snapshot does not see.
//
// What the server says comes back in told, an output parameter: the watermark, the last rowversion given (@@DBTS), and
// whether the database can be written: on a readable secondary the function does not count the primary's transactions.
type watermark struct{ told string }

// below is the page's condition.
func (w *watermark) below(b *keyset.Builder, s *keyset.Selection) {
	// The driver hands an output parameter back by its name only.
	safe := b.Syntax.Safe
	b.Own(engine.Column{Name: safe.Parameter, Type: "nvarchar(max) OUTPUT"},
		sql.Named(safe.Parameter, sql.Out{Dest: &w.told}))
	b.Before = safe.Before
	b.Add(s.Column(s.Order[0]) + " < " + safe.Limit)
}

// read returns the watermark and the last rowversion given.
func (w *watermark) read() (safe, last uint64, err error) {
	words := strings.Fields(w.told)
	if len(words) != 3 {
		return 0, 0, fmt.Errorf("read MIN_ACTIVE_ROWVERSION(): the server said %q", w.told)
	}
	if words[2] != "READ_WRITE" {
		return 0, 0, fmt.Errorf("%w: source__late_commits=exact: the server at hand is a readable secondary or its database is read-only (%s), where "+
			"MIN_ACTIVE_ROWVERSION() does not count the primary's open transactions: connect to the primary (without ApplicationIntent=ReadOnly), or use overlap",
			poller.ErrConfig, words[2])
	}
	for i, into := range []*uint64{&safe, &last} {
		n, err := strconv.ParseInt(words[i], 10, 64) // the eight bytes, as a signed number
		if err != nil {
			return 0, 0, fmt.Errorf("read MIN_ACTIVE_ROWVERSION(): the server said %q", w.told)
		}
		*into = uint64(n) //nolint:gosec // the same eight bytes
	}
	return safe, last, nil
}

// watermarkPage reads a page below the watermark. Page.Safe is the position after every row below it, where there may
// be rows above.
func (c *Cursor) watermarkPage(ctx context.Context, p *plan.Plan, r change.Range, limit poller.Limit,
	also ...keyset.Condition) (change.Page, error) {
	var w watermark
	page, err := c.page(ctx, p, r, limit, append(also[:len(also):len(also)], w.below)...)
	if err != nil {
		return change.Page{}, err
	}
	if w.told == "" && page.More {
		return page, nil // the reading was broken off: the page is below the watermark all the same
	}
	safe, last, err := w.read()
	if err != nil {
		return change.Page{}, err
	}
	if safe <= last {
		page.Safe = belowRowVersion(p, safe)
	}
	return page, nil
}

// belowRowVersion is the position after every row whose rowversion is below safe.
func belowRowVersion(p *plan.Plan, safe uint64) change.Cursor {
	last := binary.BigEndian.AppendUint64(nil, max(safe, 1)-1)
	return p.AppendCursor(nil, [][]byte{change.AppendBinary(nil, last)}, nil)
}
