package status

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
)

// Under fan-out each tick is about one partition of an outbox, on whichever instance took its message, and the one that
// ends last says nothing of the others. So a note remembers for each partition how its last tick ended, and the output
// fails while any does.

const (
	// maxErrors are the parts whose errors a note keeps.
	maxErrors = 8
	// maxPartText bounds the texts of such an error, in bytes.
	maxPartText = 500
)

// timerPart is the name of the timer's own tick among the parts.
const timerPart = "timer"

// partName begins the error of a partition's tick.
func partName(s *poller.Share) string {
	if s == nil || s.Partition < 0 {
		return ""
	}
	return fmt.Sprintf("partition %d: ", s.Partition)
}

// share notes which part a tick was of. A tick about everything forgets the parts.
func (n *Note) share(r *poller.Report) {
	if r.Share == nil {
		n.Parts, n.Handed = nil, nil
		return
	}
	name := timerPart
	if r.Share.Partition >= 0 {
		name = strconv.Itoa(r.Share.Partition)
	}
	p := PartEnd{At: r.Ended.UTC()}
	if r.Failed() { // after has just noted why
		e := *n.LastError
		e.Text, e.Mend = plaintext.Cut(e.Text, maxPartText), plaintext.Cut(e.Mend, maxPartText)
		p.Failed, p.Error = string(r.Event), &e
	}
	n.Parts = maps.Clone(n.Parts) // a note is replaced, never changed
	if n.Parts == nil {
		n.Parts = map[string]PartEnd{}
	}
	n.Parts[name] = p
	if name == timerPart && !r.Failed() {
		n.Handed = &Handed{At: r.Started.UTC(), Work: r.Share.Work}
		if r.Event == poller.Paused { // no partition's tick would do anything
			n.Handed.Work = nil
		}
	}
	n.weighParts()
}

// shares reports whether the note tells of partitions.
func (n *Note) shares() bool { return len(n.Parts) > 0 }

// joinParts adds what an older note knows of partitions: of each what is later. That one went well is kept only where
// it had been noted to fail, so that a stored note does not hold all that there are.
func (n *Note) joinParts(older *Note) {
	if !n.shares() {
		return
	}
	if older.Handed != nil && (n.Handed == nil || older.Handed.At.After(n.Handed.At)) {
		n.Handed = older.Handed
	}
	joined := maps.Clone(older.Parts)
	if joined == nil {
		joined = map[string]PartEnd{}
	}
	for name, p := range n.Parts {
		if known, ok := joined[name]; p.Failed != "" && !ok || ok && !known.At.After(p.At) {
			joined[name] = p
		}
	}
	joined[timerPart] = later(n.Parts[timerPart], older.Parts[timerPart]) // so that it goes on to tell of partitions
	n.Parts = joined
	n.weighParts()
}

func later(p, q PartEnd) PartEnd {
	if q.At.After(p.At) {
		return q
	}
	return p
}

// weighParts makes the note one of a failure while any part fails. n.Parts is nobody else's yet.
func (n *Note) weighParts() {
	n.Failed = false
	names := n.failing()
	for _, name := range names {
		n.Failed, n.Event = true, n.Parts[name].Failed
	}
	slices.SortStableFunc(names, func(a, b string) int { return n.Parts[b].At.Compare(n.Parts[a].At) })
	kept := names[:min(len(names), maxErrors)]
	for name, p := range n.Parts {
		if p.Error != nil && !slices.Contains(kept, name) {
			p.Error = nil
			n.Parts[name] = p
		}
	}
}

// problem is the error to be shown: while parts fail, that of the one of them that failed last, since another's is
// over.
func (n *Note) problem() *Problem {
	names := n.failing()
	if len(names) == 0 {
		return n.LastError
	}
	name := slices.MaxFunc(names, func(a, b string) int { return n.Parts[a].At.Compare(n.Parts[b].At) })
	p := n.Parts[name]
	switch e := n.LastError; {
	case e != nil && e.At != nil && e.At.Equal(p.At): // it is its own, whole
		return e
	case p.Error != nil:
		return p.Error
	}
	text := "the note does not say why, the log does"
	if name != timerPart {
		text = "partition " + name + ": " + text
	}
	return &Problem{At: &p.At, Event: p.Failed, Text: text}
}

// failing are the parts whose last tick failed and that have work still, in order.
func (n *Note) failing() []string {
	var names []string
	for name, p := range n.Parts {
		if p.Failed != "" && !n.idle(name, p) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// idle reports whether a partition was found without work after its last tick.
func (n *Note) idle(name string, p PartEnd) bool {
	number, err := strconv.Atoi(name)
	return err == nil && n.Handed != nil && n.Handed.At.After(p.At) && !slices.Contains(n.Handed.Work, number)
}

// partsText says which parts fail; "" where ticks are about everything, or one alone fails that the error names.
func (n *Note) partsText() string {
	names := n.failing()
	if len(names) < 2 {
		return ""
	}
	const most = 8
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return "Failing partitions: " + text + ". "
}
