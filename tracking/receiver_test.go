package tracking_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// event is what the receiver has of one.
type event struct {
	op change.Op
	v  int64
}

// receiver keeps the last state of every key.
type receiver struct {
	mu   sync.Mutex
	rows map[string]event // by key
	seen map[string]bool  // ids
	told []string         // what was accepted first: "insert 1=5"
	// refuse says which events are refused, down that nothing is answered.
	refuse func(*change.Event) bool
	down   bool
	some   bool // not every change is told
	// numbers are, of each key, that of the last change; kept where rows of the table come beside a history, which have
	// none, and may be newer than the changes that come after them.
	numbers  map[string]int64
	inverted []string
	repeated int
	changes  int // that were numbered
}

func (o *receiver) deliver(d change.Delivery) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return poller.FailAll(len(d.Events), poller.Unavailable, 503, errors.New("down"))
	}
	var failed []poller.FailedEvent
	for i := range d.Events {
		e := &d.Events[i]
		if o.refuse != nil && o.refuse(e) {
			failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: 422, Named: true})
			continue
		}
		o.accept(e)
	}
	if failed != nil {
		return &poller.DeliveryError{Failed: failed, Err: errors.New("refused")}
	}
	return nil
}

func (o *receiver) accept(e *change.Event) {
	if o.seen[e.ID] {
		o.repeated++
		return
	}
	o.seen[e.ID] = true
	id := keyOf(e)
	was, is := o.rows[id], event{op: e.Op}
	if e.Before != nil && !o.some {
		o.follows(id, was, e.Before)
	}
	if e.Op != change.Delete {
		var row struct{ V json.RawMessage } // a string beyond 2^53
		err := json.Unmarshal(e.Row, &row)
		if err == nil {
			is.v, err = strconv.ParseInt(strings.Trim(string(row.V), `"`), 10, 64)
		}
		if err != nil {
			panic(err)
		}
		if is.v <= was.v && o.numbers == nil {
			o.inverted = append(o.inverted, fmt.Sprintf("%s: %d after %d", id, is.v, was.v))
		}
	} else {
		is.v = was.v
	}
	if o.numbers != nil {
		o.numbered(id, e)
	}
	o.rows[id] = is
	text := e.Op.String() + " " + id
	if e.Op != change.Delete {
		text += fmt.Sprintf("=%d", is.v)
	}
	o.told = append(o.told, text)
}

// numbered holds the number of a change against the last one of its key.
func (o *receiver) numbered(id string, e *change.Event) {
	var key struct {
		Change int64 `json:"rowrelay_change"`
	}
	if err := json.Unmarshal(e.Key, &key); err != nil {
		panic(err)
	}
	if key.Change == 0 {
		return
	}
	if last := o.numbers[id]; key.Change < last {
		o.inverted = append(o.inverted, fmt.Sprintf("%s: change %d after %d", id, key.Change, last))
	}
	o.numbers[id] = key.Change
	o.changes++
}

// follows holds the row before a change against the last state of its key.
func (o *receiver) follows(id string, was event, before []byte) {
	var row *struct {
		ID int64
		V  json.RawMessage
	}
	if err := json.Unmarshal(before, &row); err != nil {
		panic(err)
	}
	got, want := "null", "null"
	if row != nil {
		got = fmt.Sprint(row.ID, "=", strings.Trim(string(row.V), `"`))
	}
	if was.v > 0 && was.op != change.Delete {
		want = fmt.Sprint(id, "=", was.v)
	}
	if got != want {
		o.inverted = append(o.inverted,
			fmt.Sprintf("%s: before the change it was %s, and the receiver has %s", id, got, want))
	}
}

func keyOf(e *change.Event) string {
	return strings.TrimSuffix(strings.TrimPrefix(string(e.OrderKey), `{"id":`), "}")
}

// take returns what was accepted since it was asked last.
func (o *receiver) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	told := strings.Join(o.told, ", ")
	o.told = nil
	return told
}

func (o *receiver) set(refuse func(*change.Event) bool, down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuse, o.down = refuse, down
}

// refuseKey has it refuse what is of a key.
func (o *receiver) refuseKey(key string) {
	o.set(func(e *change.Event) bool { return keyOf(e) == key }, false)
}
