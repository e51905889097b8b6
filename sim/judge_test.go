package sim

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// judged is a world with one output, two versions of rows of one order key, a and b, and nobody else.
func judged() (w *world, a, b change.Event) {
	w = &world{names: map[string]string{}, versions: map[string]*version{}, store: &store{},
		table: &table{incarnation: "life-1"}}
	w.table.w = w
	w.output = &output{doc: state.Document{PollerName: "orders"}, shows: shows{by: map[string][]show{}}}
	w.sink, w.letters, w.human = newSink(w), newLetters(w), &operator{w: w, out: w.output}
	w.set = &settings{ordering: poller.OrderKey}
	made := func(key int) change.Event {
		v := &version{row: &row{key: key}, value: int64(key)}
		v.event = w.table.eventOf(v)
		w.versions[v.event.ID] = v
		return v.event
	}
	return w, made(1), made(2)
}

func TestProbeBesideAFetchOfARestoredDatabase(t *testing.T) {
	for _, probe := range []bool{true, false} {
		w, a, _ := judged()
		w.doc.Checkpoint.Incarnation = "life-0"
		p := &process{w: w, out: w.output, set: w.set, foreign: map[string]bool{a.ID: true}}
		w.shows.add(a.ID, show{session: 1, token: 1, batch: "batch", probe: probe})
		w.doc.Lease.FencingToken, w.doc.Lease.OwnerID = 1, "app/A1"
		w.begun(&call{p: p, request: &request{life: p, d: change.Delivery{
			Events: []change.Event{a}, Token: 1, Number: 1, BatchID: "batch"}}})
		if broken := w.violation != ""; broken == probe {
			t.Errorf("probe %v: %q", probe, w.violation)
		}
	}
}
