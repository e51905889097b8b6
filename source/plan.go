package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// plan is what the settings mean on the table as the catalog shows it. It is immutable: a catalog that changed gives a
// new plan.
type plan struct {
	dialect dialect
	table   table
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
	late                    lateCommits
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
func newPlan(d dialect, cfg *Config, identity string, t table) (*plan, error) {
	p := &plan{dialect: d, table: t, storedTimes: d.syntax().storedTimes, deleteWhen: -1, timeOf: -1, warnings: slices.Clone(t.warnings)}
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
	p.forms = formRules{lengths: p.late.mode != late.Overlap, utc: cfg.TimeZone == time.UTC}
	p.coarse = !sameColumns(key, orderKey)
	if len(r.faults) > 0 {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, errors.Join(r.faults...))
	}

	p.sel = selection{dialect: d, from: t.from, query: r.query(), where: cfg.Where, cursors: len(cursor)}
	for _, i := range projected {
		p.sel.columns = append(p.sel.columns, t.columns[i])
		p.names = append(p.names, jsonName(t.columns[i].name))
	}
	p.cursor = p.indexes(cursor)
	p.key = p.indexes(key)
	p.orderKey = p.indexes(orderKey)
	if deleteWhen >= 0 {
		p.deleteWhen = p.indexes([]int{deleteWhen})[0]
	}
	for _, i := range slices.Concat(p.cursor, p.key) {
		p.sel.columns[i].positional = true
	}
	p.order = slices.Clone(p.cursor)
	for _, i := range p.key {
		if !slices.Contains(p.cursor, i) {
			p.order = append(p.order, i)
		}
	}
	p.sel.order = pick(p.sel.columns, p.order)
	p.keyNames = jsonNames(t.columns, key)
	p.orderKeyNames = jsonNames(t.columns, orderKey)
	if cfg.Op == "delete" {
		p.op = change.Delete
	}
	p.describeCursor(t, cursor)
	if p.late.exact == exactSnapshots {
		// A version of a row is its transaction and its key: within one transaction only the last is ever seen.
		p.cursorKind, p.uniqueCursor = transactionKind, true
	}
	p.fingerprint = fingerprint(cfg, d.engine(), identity, t, columnNames(pick(t.columns, cursor)), columnNames(pick(t.columns, key)))
	p.findIndex()
	r.warn(cursor, key)
	return p, nil
}

// indexes finds catalog columns in the selection, adding those that are not yet selected.
func (p *plan) indexes(catalog []int) []int {
	var at []int
	for _, i := range catalog {
		c := p.table.columns[i]
		j := slices.IndexFunc(p.sel.columns, func(s column) bool { return s.name == c.name })
		if j < 0 {
			j = len(p.sel.columns)
			p.sel.columns = append(p.sel.columns, c)
		}
		at = append(at, j)
	}
	return at
}

// describeCursor decides the kind of the stored cursor and where Event.Time comes from.
func (p *plan) describeCursor(t table, cursor []int) {
	for n, i := range cursor {
		k := t.columns[i].value.kind
		if k.isTime() && p.timeOf < 0 {
			p.timeOf = n
		}
		p.uniqueCursor = p.uniqueCursor || k == kindRowVersion
	}
	p.cursorKind = "composite+pk"
	if len(cursor) == 1 {
		p.cursorKind = t.columns[cursor[0]].value.kind.cursorKind()
	}
}

// zone is what zoneless values of the cursor's time column are in.
func (p *plan) zone(cfg *Config) *time.Location {
	if p.sel.columns[p.cursor[p.timeOf]].value.zoned {
		return time.UTC
	}
	return cfg.TimeZone
}

// isTime reports whether values of the kind are a date, or a date and time.
func (k kind) isTime() bool {
	return k == kindDate || k == kindDateTime || k == kindInstant || k == kindOffsetTime
}

// cursorKind is the stored cursor's "kind" (seeds/001, §4); "" where values of the kind cannot be a cursor.
func (k kind) cursorKind() string {
	switch k {
	case kindInteger:
		return "integer+pk"
	case kindDecimal:
		return "decimal+pk"
	case kindDate:
		return "date+pk"
	case kindDateTime, kindInstant, kindOffsetTime:
		return "timestamp+pk"
	case kindRowVersion:
		return "rowversion+pk"
	default:
		return ""
	}
}

func pick(columns []column, at []int) []column {
	picked := make([]column, len(at))
	for n, i := range at {
		picked[n] = columns[i]
	}
	return picked
}

// jsonName is `"name":`.
func jsonName(name string) string { return string(append(change.AppendString(nil, name), ':')) }

func jsonNames(columns []column, at []int) []string {
	names := make([]string, len(at))
	for n, i := range at {
		names[n] = jsonName(columns[i].name)
	}
	return names
}

// findIndex looks for an index that reads rows in the cursor's order, and writes the statement that would make one.
func (p *plan) findIndex() {
	if p.sel.query != "" {
		return
	}
	order := columnNames(p.sel.order)
	for _, ix := range p.table.indexes {
		if ix.partial {
			continue
		}
		if len(ix.columns) >= len(order) && slices.Equal(ix.columns[:len(order)], order) {
			p.indexName = ix.name
			return
		}
		// A unique index over a prefix leaves no ties that would need sorting.
		if ix.unique && ix.declared > 0 && ix.declared <= len(ix.columns) && ix.declared <= len(order) &&
			slices.Equal(ix.columns[:ix.declared], order[:ix.declared]) {
			p.indexName = ix.name
			return
		}
	}
	if p.table.view {
		return
	}
	quoted := make([]string, len(order))
	for i, name := range order {
		quoted[i] = p.dialect.quote(name)
	}
	plain := strings.NewReplacer(".", "_", " ", "_").Replace(p.table.name + "_" + strings.Join(order, "_"))
	if len(plain) > 50 {
		plain = plain[:50]
	}
	p.indexAdvice = "CREATE INDEX " + p.dialect.quote("ix_"+strings.ToValidUTF8(plain, "")) + " ON " + p.sel.from + " (" + strings.Join(quoted, ", ") + ")"
}
