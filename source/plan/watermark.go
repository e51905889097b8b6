package plan

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// Watermark keeps a page of rowversions below the lowest one that an open transaction may have taken, in the same round
// trip. MIN_ACTIVE_ROWVERSION() is read into a variable by a statement of its own, before the page: all transactions
// below it had ended then, so that the page's snapshot, which is taken later, shows all of their rows. Evaluated inside
// of the page's statement it could pass a row that the statement's snapshot does not see.
//
// What the server says comes back in Told, an output parameter: the watermark, the last rowversion given (@@DBTS), and
// whether the database can be written: on a readable secondary the function does not count the primary's transactions.
type Watermark struct{ Told string }

// Below is the page's condition.
func (w *Watermark) Below(b *keyset.Builder, s *keyset.Selection) {
	// The driver hands an output parameter back by its name only.
	safe := b.Syntax.Safe
	b.Own(engine.Column{Name: safe.Parameter, Type: "nvarchar(max) OUTPUT"},
		sql.Named(safe.Parameter, sql.Out{Dest: &w.Told}))
	b.Before = safe.Before
	b.Add(s.Column(s.Order[0]) + " < " + safe.Limit)
}

// Safe is the position after every row below the watermark, where there may be rows above it; nil where there is none.
// It refuses what a server says that does not know of all writers.
func (w *Watermark) Safe(p *Plan) (change.Cursor, error) {
	safe, last, err := w.read()
	if err != nil || safe > last {
		return nil, err
	}
	below := binary.BigEndian.AppendUint64(nil, max(safe, 1)-1)
	return p.AppendCursor(nil, [][]byte{change.AppendBinary(nil, below)}, nil), nil
}

// read returns the watermark and the last rowversion given.
func (w *Watermark) read() (safe, last uint64, err error) {
	words := strings.Fields(w.Told)
	if len(words) != 3 {
		return 0, 0, fmt.Errorf("read MIN_ACTIVE_ROWVERSION(): the server said %q", w.Told)
	}
	if words[2] != "READ_WRITE" {
		return 0, 0, fmt.Errorf("%w: source__late_commits=exact: the server at hand is a readable secondary or its database is read-only (%s), where "+
			"MIN_ACTIVE_ROWVERSION() does not count the primary's open transactions: connect to the primary (without ApplicationIntent=ReadOnly), or use overlap",
			poller.ErrConfig, words[2])
	}
	for i, into := range []*uint64{&safe, &last} {
		n, err := strconv.ParseInt(words[i], 10, 64) // the eight bytes, as a signed number
		if err != nil {
			return 0, 0, fmt.Errorf("read MIN_ACTIVE_ROWVERSION(): the server said %q", w.Told)
		}
		*into = uint64(n) //nolint:gosec // the same eight bytes
	}
	return safe, last, nil
}
