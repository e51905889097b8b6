package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
)

// requires returns what the document asks of whoever handles it: the names that were there, as far as they are not ours
// to set, and those that its members bring along. A binary that passed over one of these would lose something: rows
// that commit late, parked events, an operator's pause, rows that the position has passed.
func (d *Document) requires() []string {
	var names []string
	for _, name := range d.Requires {
		if name != "late" && name != "parked" && name != "paused" && name != "apart" {
			names = append(names, name)
		}
	}
	if d.Late.Mode == "overlap" || d.Late.Memory.Object != "" {
		names = append(names, "late")
	}
	if d.Parked.Object != "" {
		names = append(names, "parked")
	}
	if d.Paused != nil {
		names = append(names, "paused")
	}
	if len(d.Apart) > 0 {
		names = append(names, "apart")
	}
	return names
}

// lateModes are the values of source__late_commits that are ever stored.
var lateModes = []string{"", "exact", "overlap", "settle", "none"}

func (l *Late) write(w *objectWriter) {
	memory := l.Memory != (ObjectRef{}) || len(l.restMemory) > 0
	if l.Mode == "" && l.Frontier.IsStart() && l.Next.IsStart() && l.Since.IsZero() && l.Clock.IsZero() && !memory &&
		len(l.rest) == 0 {
		return
	}
	w.open("late")
	w.string("mode", l.Mode)
	if !l.Frontier.IsStart() || !l.Next.IsStart() || !l.Since.IsZero() {
		w.raw("frontier", cursorJSON(l.Frontier))
		w.raw("next", cursorJSON(l.Next))
		w.raw("since", appendTime(l.Since))
	}
	if !l.Clock.IsZero() {
		w.raw("clock", appendTime(l.Clock))
		w.raw("clock_at", appendTime(l.ClockAt))
	}
	if memory {
		l.Memory.write(w, "memory", l.restMemory)
	}
	if l.Known != (Known{}) {
		w.open("known")
		w.string("numbers", l.Known.Numbers)
		w.raw("below", appendInteger(l.Known.Below))
		w.string("of", l.Known.Of)
		w.close()
	}
	if !l.Journal.IsZero() {
		w.open("journal")
		if len(l.Journal.Pages) > 0 {
			w.raw("pages", appendNames(nil, l.Journal.Pages))
		}
		w.string("hashes", l.Journal.Hashes)
		w.string("of", l.Journal.Of)
		w.close()
	}
	w.rest(l.rest)
	w.close()
}

func (l *Late) read(raw []byte) error {
	return readObject(raw, "late.", func(r *reader) {
		r.take("mode", text(&l.Mode))
		r.take("frontier", cursorIn(&l.Frontier))
		r.take("next", cursorIn(&l.Next))
		r.take("since", instant(&l.Since))
		r.take("clock", instant(&l.Clock))
		r.take("clock_at", instant(&l.ClockAt))
		r.take("memory", func(raw []byte) (err error) { l.restMemory, err = l.Memory.read(raw, "late.memory."); return err })
		r.take("known", absent(l.Known.read))
		r.take("journal", absent(l.Journal.read))
		l.rest = r.members
		if r.err == nil && !slices.Contains(lateModes, l.Mode) {
			r.err = &DocumentError{Fault: UnknownRequires, Detail: fmt.Sprintf("late.mode is %q", l.Mode)}
		}
	})
}

// write writes the reference with what else stood in it: the document keeps that, not the reference, so that references
// can be compared.
func (o *ObjectRef) write(w *objectWriter, name string, rest []member) {
	w.open(name)
	w.string("object", o.Object)
	w.raw("count", appendInteger(uint64(max(o.Count, 0))))
	w.rest(rest)
	w.close()
}

func (o *ObjectRef) read(raw []byte, path string) (rest []member, err error) {
	err = readObject(raw, path, func(r *reader) {
		var count uint64
		r.take("object", text(&o.Object))
		r.take("count", integer(&count))
		o.Count, rest = int(count), r.members
	})
	return rest, err
}

func (k *Known) read(raw []byte) error {
	return readObject(raw, "late.known.", func(r *reader) {
		r.take("numbers", text(&k.Numbers))
		r.take("below", integer(&k.Below))
		r.take("of", text(&k.Of))
	})
}

func (j *Journal) read(raw []byte) error {
	return readObject(raw, "late.journal.", func(r *reader) {
		var page string // what an older version wrote
		r.take("page", absent(text(&page)))
		r.take("pages", absent(func(raw []byte) error { return json.Unmarshal(raw, &j.Pages) }))
		if page != "" {
			j.Pages = append(j.Pages, page)
		}
		r.take("hashes", text(&j.Hashes))
		r.take("of", text(&j.Of))
	})
}

func (p *Paused) write(w *objectWriter) {
	w.open("paused")
	w.raw("at", appendTime(p.At))
	if !p.Until.IsZero() {
		w.raw("until", appendTime(p.Until))
	}
	w.string("by", p.By)
	w.rest(p.rest)
	w.close()
}

func (p *Paused) read(raw []byte) error {
	return readObject(raw, "paused.", func(r *reader) {
		r.take("at", instant(&p.At))
		r.take("until", instant(&p.Until))
		r.take("by", text(&p.By))
		p.rest = r.members
	})
}

func (b *Backfill) write(w *objectWriter) {
	w.open("backfill")
	w.string("id", b.ID)
	if b.Whole {
		w.raw("whole_table", []byte("true"))
	}
	w.raw("from", cursorJSON(b.From))
	w.raw("to", cursorJSON(b.To))
	w.raw("at", cursorJSON(b.At))
	w.raw("per_second", appendInteger(uint64(max(b.PerSecond, 0))))
	w.raw("done", appendInteger(uint64(max(b.Done, 0))))
	w.raw("total", appendInteger(uint64(max(b.Total, 0))))
	w.raw("started_at", appendTime(b.StartedAt))
	w.string("by", b.By)
	w.rest(b.rest)
	w.close()
}

func (b *Backfill) read(raw []byte) error {
	return readObject(raw, "backfill.", func(r *reader) {
		var perSecond, done, total uint64
		// Without its id nobody could tell it from another; without its range it would be another.
		r.need("id", text(&b.ID))
		r.need("from", cursorIn(&b.From))
		r.need("to", cursorIn(&b.To))
		r.need("at", cursorIn(&b.At))
		r.take("whole_table", flag(&b.Whole))
		r.take("per_second", integer(&perSecond))
		r.take("done", integer(&done))
		r.take("total", integer(&total))
		r.take("started_at", instant(&b.StartedAt))
		r.take("by", text(&b.By))
		b.PerSecond, b.Done, b.Total, b.rest = int(perSecond), int64(done), int64(total), r.members
		if r.err == nil && b.ID == "" {
			r.err = &DocumentError{Fault: Malformed, Detail: "backfill.id is empty"}
		}
	})
}

func appendApart(dst []byte, keys []Apart) []byte {
	dst = append(dst, '[')
	for i := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, "\n    {\"order_key\":"...), keys[i].OrderKey...)
		dst = append(append(append(dst, `,"at":`...), cursorJSON(keys[i].At)...), '}')
	}
	return append(dst, "\n  ]"...)
}

func readApart(to *[]Apart) func([]byte) error {
	return func(raw []byte) error {
		all, err := splitArray(raw)
		if err != nil {
			return err
		}
		for i, raw := range all {
			var a Apart
			err := readObject(raw, "apart["+strconv.Itoa(i)+"].", func(r *reader) {
				r.need("order_key", func(raw []byte) error {
					if len(raw) == 0 || raw[0] != '{' {
						return errors.New("it is no order key")
					}
					var b bytes.Buffer // an editor may have indented it, and rows' order keys are compared with it
					err := json.Compact(&b, raw)
					a.OrderKey = b.Bytes()
					return err
				})
				r.need("at", cursorIn(&a.At))
			})
			if err != nil {
				return err
			}
			*to = append(*to, a)
		}
		return nil
	}
}

// appendSkips writes the skips on one line each: they are history, and only read by people.
func appendSkips(dst []byte, skips []Skip) []byte {
	dst = append(dst, '[')
	for i := range skips {
		s := &skips[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, "\n    {\"at\":"...)
		dst = append(dst, appendTime(s.At)...)
		dst = append(append(dst, `,"by":`...), quote(s.By)...)
		dst = append(append(dst, `,"from":`...), cursorJSON(s.From)...)
		dst = append(append(dst, `,"to":`...), cursorJSON(s.To)...)
		rows := []byte("null")
		if s.Rows >= 0 {
			rows = appendInteger(uint64(s.Rows))
		}
		dst = append(append(dst, `,"rows":`...), rows...)
		for _, m := range s.rest {
			dst = append(append(append(append(dst, ','), m.rawName...), ':'), m.raw...)
		}
		dst = append(dst, '}')
	}
	return append(dst, "\n  ]"...)
}

func readSkips(to *[]Skip) func([]byte) error {
	return func(raw []byte) error {
		all, err := splitArray(raw)
		if err != nil {
			return err
		}
		for i, raw := range all {
			s := Skip{Rows: -1}
			err := readObject(raw, "skips["+strconv.Itoa(i)+"].", func(r *reader) {
				r.take("at", instant(&s.At))
				r.take("by", text(&s.By))
				r.need("from", cursorIn(&s.From))
				r.need("to", cursorIn(&s.To))
				r.take("rows", func(raw []byte) error {
					if string(raw) == "null" {
						return nil
					}
					var n uint64
					err := integer(&n)(raw)
					s.Rows = int64(n)
					return err
				})
				s.rest = r.members
			})
			if err != nil {
				return err
			}
			*to = append(*to, s)
		}
		*to = lastSkips(*to)
		return nil
	}
}

// lastSkips are those that are remembered.
func lastSkips(skips []Skip) []Skip { return skips[max(len(skips)-MaxSkips, 0):] }

// absent reads a member that may be null, which says what its absence says.
func absent(read func([]byte) error) func([]byte) error {
	return func(raw []byte) error {
		if string(raw) == "null" {
			return nil
		}
		return read(raw)
	}
}

// readObject reads the members of an object whose place in the document is path.
func readObject(raw []byte, path string, read func(r *reader)) error {
	members, err := splitObject(raw)
	if err != nil {
		return err
	}
	r := &reader{path: path, members: members}
	read(r)
	return r.failed()
}

func cursorIn(to *change.Cursor) func([]byte) error {
	return func(raw []byte) error { return to.UnmarshalJSON(raw) }
}

func cursorJSON(c change.Cursor) []byte {
	if c.IsStart() {
		return []byte("null")
	}
	return c
}

// spell gives cursors the form that the document will hold them in, and refuses what is none.
func spell(cursors ...*change.Cursor) error {
	for _, c := range cursors {
		if c.IsStart() {
			*c = nil
			continue
		}
		parsed, err := change.ParseCursor(*c)
		if err != nil {
			return err
		}
		*c = parsed
	}
	return nil
}
