package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// plan is what the settings mean on the table as the catalog shows it. It is immutable: a catalog that changed gives a
// new plan.
type plan struct {
	dialect engine.Dialect
	syntax  engine.Syntax
	table   engine.Table
	sel     selection
	// names holds, for each projected column of the row, `"name":` ready to be written; the first len(names) columns of
	// sel.columns are the row's, the others are read for key, cursor, order key and delete_when only.
	names []string
	// The columns of each part, as indexes in sel.columns.
	cursor, key, orderKey   []int
	order                   []int // sel.order's: cursor, then the key's that are not in it
	storedTimes             bool  // the syntax's
	forms                   formRules
	keyNames, orderKeyNames []string // `"name":` of each
	deleteWhen              int      // -1: none
	op                      change.Op
	cursorKind              string // integer+pk, …
	late                    late
	coarse                  bool // the order key is not the row's key
	timeOf                  int  // index in cursor of the column that gives Event.Time; -1: none
	uniqueCursor            bool // a rowversion: the cursor alone tells two versions of a row apart
	keyProved               bool
	keyProof                string // for people
	indexName               string // the index that serves the order; "" when none does, or unknown
	indexAdvice             string // the statement that makes one; "" when there is one, or for a query
	fingerprint             string
	warnings                []string
}

// newPlan resolves and proves the settings. All of its errors are configuration faults; it reports every one.
func newPlan(d engine.Dialect, cfg *Config, identity string, t engine.Table) (*plan, error) {
	p := &plan{dialect: d, syntax: d.Syntax(), table: t, storedTimes: d.Syntax().StoredTimes, deleteWhen: -1, timeOf: -1, warnings: slices.Clone(t.Warnings)}
	r := resolver{cfg: cfg, plan: p}
	r.checkText()
	cursor := r.columns("source__cursor", cfg.Cursor)
	key := r.key()
	orderKey := key
	if len(cfg.OrderKey) > 0 {
		orderKey = r.columns("source__order_key", cfg.OrderKey)
	}
	projected := r.projection()
	r.checkCursor(cursor)
	r.checkKey(key)
	deleteWhen := r.deleteWhen()
	p.late = r.late(cursor)
	p.forms = formRules{lengths: p.late.mode != poller.LateOverlap, utc: cfg.TimeZone == time.UTC}
	p.coarse = !sameColumns(key, orderKey)
	if len(r.faults) > 0 {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, errors.Join(r.faults...))
	}

	p.sel = selection{syntax: &p.syntax, from: t.From, query: r.query(), where: cfg.Where, cursors: len(cursor)}
	for _, i := range projected {
		p.sel.columns = append(p.sel.columns, t.Columns[i])
		p.names = append(p.names, jsonName(t.Columns[i].Name))
	}
	p.cursor = p.indexes(cursor)
	p.key = p.indexes(key)
	p.orderKey = p.indexes(orderKey)
	if deleteWhen >= 0 {
		p.deleteWhen = p.indexes([]int{deleteWhen})[0]
	}
	for _, i := range slices.Concat(p.cursor, p.key) {
		p.sel.columns[i].Positional = true
	}
	p.order = slices.Clone(p.cursor)
	for _, i := range p.key {
		if !slices.Contains(p.cursor, i) {
			p.order = append(p.order, i)
		}
	}
	p.sel.order = pick(p.sel.columns, p.order)
	p.keyNames = jsonNames(t.Columns, key)
	p.orderKeyNames = jsonNames(t.Columns, orderKey)
	if cfg.Op == "delete" {
		p.op = change.Delete
	}
	p.describeCursor(t, cursor)
	if p.late.exact == exactSnapshots {
		// A version of a row is its transaction and its key: within one transaction only the last is ever seen.
		p.cursorKind, p.uniqueCursor = transactionKind, true
	}
	p.fingerprint = fingerprint(cfg, p.syntax.Name, identity, t, columnNames(pick(t.Columns, cursor)), columnNames(pick(t.Columns, key)))
	p.findIndex()
	r.warn(cursor, key)
	return p, nil
}

// indexes finds catalog columns in the selection, adding those that are not yet selected.
func (p *plan) indexes(catalog []int) []int {
	var at []int
	for _, i := range catalog {
		c := p.table.Columns[i]
		j := slices.IndexFunc(p.sel.columns, func(s engine.Column) bool { return s.Name == c.Name })
		if j < 0 {
			j = len(p.sel.columns)
			p.sel.columns = append(p.sel.columns, c)
		}
		at = append(at, j)
	}
	return at
}

// describeCursor decides the kind of the stored cursor and where Event.Time comes from.
func (p *plan) describeCursor(t engine.Table, cursor []int) {
	for n, i := range cursor {
		k := t.Columns[i].Value.Kind
		if k.IsTime() && p.timeOf < 0 {
			p.timeOf = n
		}
		p.uniqueCursor = p.uniqueCursor || k == engine.KindRowVersion
	}
	p.cursorKind = "composite+pk"
	if len(cursor) == 1 {
		p.cursorKind = kindOfCursor(t.Columns[cursor[0]].Value.Kind)
	}
}

// zone is what zoneless values of the cursor's time column are in.
func (p *plan) zone(cfg *Config) *time.Location {
	if p.sel.columns[p.cursor[p.timeOf]].Value.Zoned {
		return time.UTC
	}
	return cfg.TimeZone
}

// kindOfCursor is the stored cursor's "kind"; "" where values of a kind cannot be a cursor.
func kindOfCursor(k engine.Kind) string {
	switch k {
	case engine.KindInteger:
		return "integer+pk"
	case engine.KindDecimal:
		return "decimal+pk"
	case engine.KindDate:
		return "date+pk"
	case engine.KindDateTime, engine.KindInstant, engine.KindOffsetTime:
		return "timestamp+pk"
	case engine.KindRowVersion:
		return "rowversion+pk"
	default:
		return ""
	}
}

func pick(columns []engine.Column, at []int) []engine.Column {
	picked := make([]engine.Column, len(at))
	for n, i := range at {
		picked[n] = columns[i]
	}
	return picked
}

// jsonName is `"name":`.
func jsonName(name string) string { return string(append(change.AppendString(nil, name), ':')) }

func jsonNames(columns []engine.Column, at []int) []string {
	names := make([]string, len(at))
	for n, i := range at {
		names[n] = jsonName(columns[i].Name)
	}
	return names
}

// findIndex looks for an index that reads rows in the cursor's order, and writes the statement that would make one.
func (p *plan) findIndex() {
	if p.sel.query != "" {
		return
	}
	order := columnNames(p.sel.order)
	for _, ix := range p.table.Indexes {
		if ix.Partial {
			continue
		}
		if len(ix.Columns) >= len(order) && slices.Equal(ix.Columns[:len(order)], order) {
			p.indexName = ix.Name
			return
		}
		// A unique index over a prefix leaves no ties that would need sorting.
		if ix.Unique && ix.Declared > 0 && ix.Declared <= len(ix.Columns) && ix.Declared <= len(order) &&
			slices.Equal(ix.Columns[:ix.Declared], order[:ix.Declared]) {
			p.indexName = ix.Name
			return
		}
	}
	if p.table.View {
		return
	}
	quoted := make([]string, len(order))
	for i, name := range order {
		quoted[i] = p.syntax.Quote(name)
	}
	plain := strings.NewReplacer(".", "_", " ", "_").Replace(p.table.Name + "_" + strings.Join(order, "_"))
	if len(plain) > 50 {
		plain = plain[:50]
	}
	p.indexAdvice = "CREATE INDEX " + p.syntax.Quote("ix_"+strings.ToValidUTF8(plain, "")) + " ON " + p.sel.from + " (" + strings.Join(quoted, ", ") + ")"
}
