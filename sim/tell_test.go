package sim

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
)

// tellDocument is the document as the trace shows it.
func (w *world) tellDocument() string {
	l, c := &w.doc.Lease, &w.doc.Checkpoint
	owner := l.OwnerID
	if owner == "" {
		owner = "free"
	}
	text := fmt.Sprintf("at %s, %s, token %d, write %d", brief(c.Cursor), owner, l.FencingToken, l.WriteSeq)
	if d := &w.doc.Late; d.Mode != "" {
		text += fmt.Sprintf(", %s frontier %s next %s", d.Mode, brief(d.Frontier), brief(d.Next))
	}
	if w.doc.Paused != nil {
		text += ", paused"
	}
	if b := w.doc.Backfill; b != nil {
		text += fmt.Sprintf(", backfill to %s at %s", brief(b.To), brief(b.At))
	}
	return text
}

// id is an event id as the trace shows it: its row and revision.
func (w *world) id(id string) string {
	w.naming.Lock()
	defer w.naming.Unlock()
	if name, ok := w.names[id]; ok {
		return name
	}
	return id
}

func (w *world) name(e *change.Event, v *version) {
	w.naming.Lock()
	defer w.naming.Unlock()
	what := "r"
	if v.gone {
		what = "d" // a delete
	}
	w.names[e.ID] = fmt.Sprintf("%s%d.%d@%d", what, v.row.key, v.rev, v.value)
}

// names are events as the trace shows them.
func names(w *world, events []change.Event) string {
	var b strings.Builder
	for i := range events {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.id(events[i].ID))
	}
	return b.String()
}

// list is a page as the trace shows it.
func (w *world) list(events []change.Event, more bool) string {
	if len(events) == 0 {
		return "nothing"
	}
	text := names(w, events)
	if more {
		text += " and more"
	}
	return text
}
