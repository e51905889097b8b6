package publisher

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
)

// glance is what there is to do in an outbox.
type glance struct {
	work, paused bool
	waiting      bool   // there are, or may be, WAITING events
	by           string // who paused it, when and why
	partitions   int    // in force; 0: none yet
}

// position is where a page begins: after (bucket, seq), or by seq alone. For ordering=source it is always by seq.
type position struct {
	bucket int
	seq    int64
	bySeq  bool
}

type aggregate struct{ typ, id string }

// row is one event as it was fetched.
type row struct {
	ref      ref
	at       position
	outbox   change.Outbox
	attempts int // failed ones that count
	waits    bool
	broken   error // see change.Event.Broken
}

// aggregate is the row's.
func (r *row) aggregate() aggregate { return aggregate{r.outbox.AggregateType, r.outbox.AggregateID} }

// ref names a row of the table in marks: its seq, or for a mapped table the text of its id.
type ref struct {
	seq int64
	id  string
}

// setPayload takes a payload in that was read, of a size in bytes, unless it is larger than most (0: no bound).
func (r *row) setPayload(payload []byte, size, most int) {
	if most > 0 && (payload == nil && size > most || len(payload) > most) {
		r.broken = fmt.Errorf("the payload has %d bytes, and max_row_bytes is %d: raise that, or write less", max(size, len(payload)), most)
		return
	}
	r.outbox.Payload, r.outbox.JSON = payload, json.Valid(payload)
}

// readRows runs a statement of events' columns and stops at the limit; more says that there was another row.
func readRows(ctx context.Context, s *statement.Statement, q statement.Querier, limit poller.Limit, scanned func(func(...any) error) (row, error)) (rows []row, more bool, err error) {
	size := 0
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		if len(rows) > 0 && (len(rows) >= limit.Rows || limit.Bytes > 0 && size >= limit.Bytes) {
			more = true
			return false, nil
		}
		r, err := scanned(scan)
		if err != nil {
			return false, err
		}
		size += len(r.outbox.Payload)
		if len(rows) > 0 && limit.Bytes > 0 && size > limit.Bytes {
			more = true // this one comes with the next fetch
			return false, nil
		}
		rows = append(rows, r)
		return true, nil
	})
	return rows, more, err
}
