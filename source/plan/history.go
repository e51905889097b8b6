package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// ofHistory are the settings by which a history is read in cursor mode: by the number of the change, which is part of
// an event's key, and in the order of the row's own key. What is left out is a condition on the history's columns.
func (c *Config) ofHistory(s *engine.Syntax, t *engine.Table) *Config {
	of := *c
	of.Tracked = false
	of.Cursor = []string{engine.HistoryChange}
	of.Key = append(slices.Clone(t.History.Key), engine.HistoryChange)
	if len(of.OrderKey) == 0 {
		of.OrderKey = t.History.Key
	}
	operation := "r." + s.Quote(engine.HistoryOperation)
	var where []string
	if n := len(c.Operations); n > 0 && n < len(Operations) {
		where = append(where, operation+" IN ('"+strings.Join(c.Operations, "', '")+"')")
	}
	if c.Where != "" {
		where = append(where, "(\n"+c.Where+"\n)")
	}
	if len(t.History.Changed) > 0 {
		written := []string{operation + " <> '" + change.Update.String() + "'"}
		for _, name := range t.History.Changed {
			written = append(written, s.Tracking.Histories.Differ("r."+s.Quote(engine.HistoryWas+name), "r."+s.Quote(name)))
		}
		where = append(where, "("+strings.Join(written, " OR ")+")")
	}
	if c.Ignored != "" {
		context := "r." + s.Quote(engine.HistoryContext)
		where = append(where, "("+context+" IS NULL OR "+context+" <> '"+c.Ignored+"')")
	}
	of.Where = strings.Join(where, " AND ")
	return &of
}

// ChangeTable is what triggers keep of the table's changes; nil where nobody asks.
func (p *Plan) ChangeTable() *engine.ChangeTable {
	if p.Table.History != nil {
		return p.Table.History
	}
	return p.Table.Changes
}

// keep finds the history's columns.
func (p *Plan) keep(cfg *Config) {
	if p.Table.History == nil {
		return
	}
	p.History = &History{Operation: p.named(engine.HistoryOperation), Written: p.named(engine.HistoryWritten),
		Context: p.named(engine.HistoryContext), WasKey: -1}
	if !cfg.BeforeImage {
		return
	}
	p.History.WasKey = p.named(engine.HistoryWas + p.Table.History.Key[0])
	for i := range p.Names {
		p.History.Was = append(p.History.Was, p.named(engine.HistoryWas+p.Sel.Columns[i].Name))
	}
}

// besideHistory is the plan by which the table of a history is read, in the order of its key. Its rows become events by
// Reading.
func (p *Plan) besideHistory(where string) *Plan {
	whole := *p
	whole.Table, whole.UniqueCursor, whole.Numbered, whole.Marked = *p.Table.History.History.Table, false, nil, nil
	whole.History = &History{Operation: -1, Written: -1, Context: -1, WasKey: -1}
	if p.History.Was != nil {
		whole.History.Was = []int{}
	}
	whole.Sel = keyset.Selection{Syntax: &whole.Syntax, From: whole.Table.From, Where: where}
	same := func(columns []engine.Column) (at []int) {
		for _, name := range keyset.ColumnNames(columns) {
			at = append(at, slices.IndexFunc(whole.Table.Columns, func(c engine.Column) bool { return c.Name == name }))
		}
		return whole.indexes(at)
	}
	same(p.Sel.Columns[:len(p.Names)])
	whole.Key = same(keyset.Pick(p.Sel.Columns, p.Key[:len(p.Key)-1])) // without the number of the change
	whole.OrderKey = same(keyset.Pick(p.Sel.Columns, p.OrderKey))
	for _, i := range whole.Key {
		whole.Sel.Columns[i].Positional = true
	}
	whole.KeyNames = slices.Clip(p.KeyNames[:len(whole.Key)])
	whole.Order, whole.Sel.Order = whole.Key, keyset.Pick(whole.Sel.Columns, whole.Key)
	return &whole
}

// Reading is the plan of the table's rows beside the changes of a history after a number. The number is part of their
// keys: after a gap the same row is another event. Their cursor is 0, because no position among the changes brings them
// (Unwritten).
func (p *Plan) Reading(number []byte) (*Plan, error) {
	digits := strings.Trim(string(number), `"`) // beyond 2^53 it is a string
	if _, err := strconv.ParseUint(digits, 10, 64); err != nil {
		return nil, fmt.Errorf("%w: %s is no number of a change", poller.ErrConfig, number)
	}
	whole := *p.Whole
	of, read := p.Sel.Columns[p.Cursor[0]], p.Sel.Columns[p.Cursor[0]]
	read.Name = engine.HistoryRead
	columns := engine.Names(p.Syntax.Quote, "t.", keyset.ColumnNames(whole.Sel.Columns))
	for _, as := range [][2]string{{"0", of.Name}, {digits, read.Name}} {
		columns += ", " + engine.Fill(of.Value.Param, as[0]) + " AS " + p.Syntax.Quote(as[1])
	}
	whole.Sel.From = "(\n\tSELECT " + columns + "\n\tFROM " + whole.Sel.From + " AS t\n)"
	n := len(whole.Sel.Columns)
	whole.Sel.Columns = append(slices.Clip(whole.Sel.Columns), of, read)
	whole.Cursor, whole.Key = []int{n}, append(slices.Clip(whole.Key), n+1)
	whole.KeyNames = append(whole.KeyNames, JSONName(read.Name))
	return &whole, nil
}

// Of is the plan that a stored key is one of, and of how many of those after it as well: rows of the table are read
// beside their history.
func (p *Plan) Of(keys [][]byte) (of *Plan, n int, err error) {
	if p.History == nil {
		return p, len(keys), nil
	}
	number := NumberRead(keys[0])
	for n = 1; n < len(keys) && bytes.Equal(NumberRead(keys[n]), number); n++ {
	}
	if number == nil {
		return p, n, nil
	}
	of, err = p.Reading(number)
	return of, n, err
}

// NumberRead is the number in the key of a row of the table; nil in that of a change.
func NumberRead(key []byte) []byte {
	var s struct {
		Read json.RawMessage `json:"rowrelay_read"`
	}
	_ = json.Unmarshal(key, &s) // who reads the key says what is wrong with it
	return s.Read
}
