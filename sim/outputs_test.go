package sim

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/state"
)

// output is one output of the poller: a document and sessions of its own, a receiver, a place for dead letters, and an
// operator who minds it. All outputs read the one table, and the sessions of an instance crash and freeze together. The
// world's own members of these names are those of the output that the present step is about (see about).
type output struct {
	name string // as in the settings; "" for the only one
	key  string // of its document

	sink    *sink
	letters *letters
	human   *operator
	shows   shows

	doc    state.Document  // as it is stored
	parked []parking.Entry // that it names
	holder *process        // who took the lease last
	// freeSince is when the lease was given back last.
	freeSince time.Time
	read      []reading         // of the database's clock, that the document keeps or kept
	passed    []place           // up to these an operator skipped what was not delivered
	skipped   map[*version]bool // passed over by an operator on purpose
}

// addOutput makes an output, with a process of each instance for it.
func (w *world) addOutput(name string) {
	key := "state/app/orders.json"
	if name != "" {
		key = fmt.Sprintf("state/app/orders.%s.json", name)
	}
	o := &output{name: name, key: key, skipped: map[*version]bool{}, shows: shows{by: map[string][]show{}}}
	w.outputs = append(w.outputs, o)
	w.output = o
	o.sink = newSink(w)
	o.letters = newLetters(w)
	o.human = &operator{w: w, out: o}
	for range w.pro.Instances {
		w.slots = append(w.slots, w.newProcess(len(w.slots)))
	}
}

// about makes the following about an output.
func (w *world) about(o *output) { w.output = o }

// aboutAny makes the following about one of the outputs.
func (w *world) aboutAny() {
	if len(w.outputs) > 1 {
		w.output = w.outputs[w.rng.IntN(len(w.outputs))]
	}
}

// each does something for every output.
func (w *world) each(do func()) {
	was := w.output
	for _, o := range w.outputs {
		w.output = o
		do()
	}
	w.output = was
}

// outputOf is the output that a slot's process serves.
func (w *world) outputOf(slot int) *output { return w.outputs[slot/w.pro.Instances] }

// instance are the processes that live and die with this one: the sessions of one instance.
func (p *process) instance() []*process {
	if p.human {
		return []*process{p}
	}
	all := []*process{p}
	for i := p.slot % p.w.pro.Instances; i < len(p.w.slots); i += p.w.pro.Instances {
		if i != p.slot {
			all = append(all, p.w.slots[i])
		}
	}
	return all
}

// later notes an effect of which nobody hears.
func (w *world) later(what string, do func()) {
	w.late = append(w.late, lateEffect{what, do, w.output})
}
