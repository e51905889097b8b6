package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// BuiltIn is the engine's own change tracking, where rows are read through that.
func (p *Plan) BuiltIn() *engine.BuiltIn {
	if p.Table.Changes == nil {
		return nil
	}
	return p.Syntax.Tracking.BuiltIn
}

// Operations are the values of source__operations.
var Operations = []string{change.Insert.String(), change.Update.String(), change.Delete.String()}

// checkTracked refuses what has no meaning beside a change table.
func (c *Config) checkTracked() error {
	var faults []error
	refuse := func(set bool, setting, why string) {
		if set {
			faults = append(faults, fmt.Errorf("%s does not go with source__mode=changetracking: %s", setting, why))
		}
	}
	refuse(c.Query != "", "source__query", "changes are tracked of a table: name it by source__table")
	refuse(len(c.Cursor) > 0, "source__cursor", "changes have their own")
	refuse(len(c.Key) > 0, "source__key", "the key is the table's primary key")
	refuse(c.DeleteWhen != "", "source__delete_when", "deletes are seen as such; leave rows out by source__where")
	refuse(c.Op != "", "source__op", "what happened to a row is seen")
	refuse(c.LateCommits != "" && c.LateCommits != lateAuto, "source__late_commits", "the engine decides it")
	for _, op := range c.Operations {
		if !slices.Contains(Operations, op) {
			faults = append(faults, fmt.Errorf("source__operations has %q: it holds %s", op, strings.Join(Operations, ", ")))
		}
	}
	return errors.Join(faults...)
}

// tracked sets what the settings leave to the change table, and proves that the order key is known of a deleted row.
func (r *resolver) tracked() {
	t := &r.plan.Table
	if t.Changes == nil {
		return
	}
	cfg := *r.cfg
	cfg.Cursor = []string{engine.ChangeVersion}
	for _, name := range cfg.OrderKey {
		if !slices.ContainsFunc(t.PrimaryKey, func(k string) bool { return strings.EqualFold(k, name) }) {
			r.fault("source__order_key: %q is no part of the primary key (%s), and of a deleted row nothing else is known: name columns of the key",
				name, strings.Join(t.PrimaryKey, ", "))
		}
	}
	r.cfg = &cfg
}

// track finds the change table's columns.
func (p *Plan) track() {
	c := p.Table.Changes
	if c == nil {
		return
	}
	p.Sel.From, p.Sel.OfKeys = c.Rows, c.OfKeys
	if p.BuiltIn() != nil {
		p.Syntax.Unites = false // no index gives changes in their order: to read them several times over serves nothing
	}
	if p.Sel.Where != "" { // what a row that is gone held is not known
		p.Sel.Where = "r." + p.Syntax.Quote(engine.ChangePresent) + " IS NULL OR (\n" + p.Sel.Where + "\n)"
	}
	p.Tracked = &Tracked{Version: p.Cursor[0],
		Created: p.named(engine.ChangeCreated), Present: p.named(engine.ChangePresent),
		Touched: p.named(engine.ChangeTouched), Mask: p.named(engine.ChangeMask), Context: p.named(engine.ChangeContext),
		Floor: p.named(engine.StateFloor), Head: p.named(engine.ChangeHead)}
}

// named is a column of the table by its name, as an index in Sel.Columns; -1 where there is none.
func (p *Plan) named(name string) int {
	i := slices.IndexFunc(p.Table.Columns, func(c engine.Column) bool { return c.Name == name })
	if i < 0 {
		return -1
	}
	return p.indexes([]int{i})[0]
}

// Window are the versions that a page of changes is read within. What is new is told from its begin.
type Window struct {
	// Since is the version that it begins after, nil for the beginning. Head is the last version that it holds; nil where
	// it ends with what there is.
	Since, Head []byte
	// At is the version that was read last, nil for none. Whole says that nothing of that version is left to read.
	At    []byte
	Whole bool
	// Told is the version up to which every insert was delivered for certain. It is lower than Since after windows of
	// several pages: a row of such a window that was written again before its page was read has left the window.
	Told []byte
}

// Within is the window that a position lies in: one that it names, else the one that begins there.
func (p *Plan) Within(at change.Cursor) (Window, error) {
	if at.IsStart() {
		return Window{}, nil
	}
	var s keyset.StoredCursor
	if err := json.Unmarshal(at, &s); err != nil {
		return Window{}, fmt.Errorf("read the stored cursor %s: %w", at, err)
	}
	for i, v := range s.Window {
		if bytes.Equal(v, keyset.Null) {
			s.Window[i] = nil
		}
	}
	switch w := s.Window; len(w) {
	case 0:
		return Window{Since: s.Value, At: s.Value, Whole: s.Tiebreaker == nil, Told: s.Value}, nil
	case 1:
		return Window{Since: s.Value, At: s.Value, Whole: s.Tiebreaker == nil, Told: w[0]}, nil
	default:
		return Window{Since: w[0], Head: w[1], At: s.Value, Whole: s.Tiebreaker == nil, Told: toldOf(w)}, nil
	}
}

// Unwritten reports whether a row's cursor says that nothing is known of when it was written.
func Unwritten(row change.Cursor) bool {
	var s keyset.StoredCursor
	return !row.IsStart() && json.Unmarshal(row, &s) == nil && len(s.Value) > 0 && !Later(s.Value, nil)
}

// toldOf is what a position within a window says.
func toldOf(window []json.RawMessage) []byte {
	if len(window) > 2 {
		return window[2]
	}
	return window[0]
}

// Place is a row's position within a window.
func (w *Window) Place(row change.Cursor, head []byte) change.Cursor {
	return within(row, w.Since, head, w.Told)
}

// End is a position at which a window of several pages ends.
func (w *Window) End(at change.Cursor) change.Cursor { return within(at, w.Told) }

// within adds versions to a position.
func within(at change.Cursor, versions ...[]byte) change.Cursor {
	at = append(at[:len(at)-1:len(at)-1], `,"window":[`...)
	for i, v := range versions {
		if v == nil {
			v = keyset.Null
		}
		if i > 0 {
			at = append(at, ',') // without a blank: positions are compared byte for byte with what a store gives back
		}
		at = append(at, v...)
	}
	return append(at, "]}"...)
}

// Later reports whether a version is higher than another; nil is what was before every change. Versions are integers,
// or times in UTC.
func Later(a, b []byte) bool {
	n, isNumber := number(a)
	if isNumber {
		m, _ := number(b)
		return n > m
	}
	at, _ := timeform.Parse(a, time.UTC)
	than := time.Unix(0, 0)
	if b != nil {
		than, _ = timeform.Parse(b, time.UTC)
	}
	return at.After(than)
}

// number is an integer's value; 0 for none.
func number(scalar []byte) (uint64, bool) {
	digits := bytes.Trim(scalar, `"`)
	for _, c := range digits { // an error would cost more than the number, for each row
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	if len(digits) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	return n, err == nil
}

// OfTouched writes that a write counts that came since the version told (nil: since changes are recorded), or, where no
// context is ignored, that the row was inserted since then, or is gone.
func (p *Plan) OfTouched(told any) keyset.Condition {
	return func(b *keyset.Builder, s *keyset.Selection) {
		column := func(i int) string { return s.Column(p.Sel.Columns[i]) }
		or, since := "(", []int{p.Tracked.Touched}
		if p.Table.Changes.Ignored == "" {
			b.Add("(" + column(p.Tracked.Present) + " IS NULL")
			or, since = " OR ", []int{p.Tracked.Created, p.Tracked.Touched}
		}
		for _, i := range since {
			b.Add(or)
			or = " OR "
			if told == nil {
				b.Add(column(i) + " <> " + p.Syntax.Tracking.Before)
				continue
			}
			b.Add(column(i) + " > ")
			b.Value(&p.Sel.Columns[p.Tracked.Version], told)
		}
		b.Add(")")
	}
}

// OfOperations writes that the last change of a row was one of these, as far as the row alone tells: it was inserted if
// it was not written since. Where updates are not wanted, it may have been inserted: since the version told, if that is
// given.
func (p *Plan) OfOperations(cfg *Config, told any) keyset.Condition {
	return func(b *keyset.Builder, s *keyset.Selection) {
		column := func(i int) string { return s.Column(p.Sel.Columns[i]) }
		created := column(p.Tracked.Created) + " %s " + column(p.Tracked.Version)
		means := map[string]string{
			change.Insert.String(): column(p.Tracked.Present) + " IS NOT NULL AND " + engine.Fill(created, "="),
			change.Update.String(): column(p.Tracked.Present) + " IS NOT NULL AND " + engine.Fill(created, "<>"),
			change.Delete.String(): column(p.Tracked.Present) + " IS NULL",
		}
		b.Add("(")
		for i, op := range cfg.Operations {
			if i > 0 {
				b.Add(" OR ")
			}
			if op != change.Insert.String() || !cfg.OnlyInserts() {
				b.Add(means[op])
				continue
			}
			b.Add(column(p.Tracked.Present) + " IS NOT NULL AND " + column(p.Tracked.Created) + " <> " +
				p.Syntax.Tracking.Before)
			if told != nil {
				b.Add(" AND " + column(p.Tracked.Created) + " > ")
				b.Value(&p.Sel.Columns[p.Tracked.Version], told)
			}
		}
		b.Add(")")
	}
}
