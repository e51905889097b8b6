// Package plan is what the settings of a source mean on its table, as the catalog shows it: which columns are the
// cursor, the key and the order key, how a position is written and read, which way late commits are handled, and what
// is to be said of all that. It asks no database: a [Plan] is made of a [Config] and an engine.Table.
package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/snapshot"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// New resolves and proves the settings. All of its errors are configuration faults; it reports every one.
func New(d engine.Dialect, cfg *Config, identity string, t engine.Table) (*Plan, error) {
	p := &Plan{Dialect: d, Syntax: d.Syntax(), Table: t, StoredTimes: d.Syntax().StoredTimes, DeleteWhen: -1, TimeOf: -1,
		Warnings: slices.Clone(t.Warnings)}
	asked := cfg
	if t.History != nil {
		cfg = cfg.ofHistory(&p.Syntax, &t)
	}
	r := resolver{cfg: asked, plan: p}
	r.checkText()
	r.cfg = cfg
	r.tracked()
	cursor := r.columns("source__cursor", r.cfg.Cursor)
	key := r.key()
	orderKey := key
	if len(cfg.OrderKey) > 0 {
		orderKey = r.columns("source__order_key", cfg.OrderKey)
	}
	projected := r.projection()
	r.checkCursor(cursor)
	r.checkKey(key)
	deleteWhen := r.deleteWhen()
	p.Coarse = !sameColumns(key, orderKey)
	p.Late = r.late(cursor)
	p.Forms = timeform.Rules{Lengths: p.Late.Mode != late.Overlap, Utc: cfg.TimeZone == time.UTC}
	if len(r.faults) > 0 {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, errors.Join(r.faults...))
	}

	p.Sel = keyset.Selection{Syntax: &p.Syntax, From: t.From, Query: r.query(), Where: cfg.Where, Cursors: len(cursor)}
	for _, i := range projected {
		p.Sel.Columns = append(p.Sel.Columns, t.Columns[i])
		p.Names = append(p.Names, JSONName(t.Columns[i].Name))
	}
	p.Cursor = p.indexes(cursor)
	p.Key = p.indexes(key)
	p.OrderKey = p.indexes(orderKey)
	if deleteWhen >= 0 {
		p.DeleteWhen = p.indexes([]int{deleteWhen})[0]
	}
	p.track()
	p.keep(asked)
	for _, i := range slices.Concat(p.Cursor, p.Key) {
		p.Sel.Columns[i].Positional = true
	}
	p.Order = slices.Clone(p.Cursor)
	for _, i := range p.Key {
		if !slices.Contains(p.Cursor, i) {
			p.Order = append(p.Order, i)
		}
	}
	p.Sel.Order = keyset.Pick(p.Sel.Columns, p.Order)
	p.KeyNames = JSONNames(t.Columns, key)
	p.OrderKeyNames = JSONNames(t.Columns, orderKey)
	p.KeyShape = &change.Shape{Row: members(p.KeyNames, key, &t), Key: members(p.KeyNames, key, &t)}
	p.Shape = &change.Shape{Row: members(p.Names, projected, &t), Key: p.KeyShape.Key}
	if cfg.Op == "delete" {
		p.Op = change.Delete
	}
	p.describeCursor(t, cursor)
	if p.Tracked != nil {
		p.UniqueCursor = true // of one key every version is a higher one
	}
	p.UniqueCursor = p.UniqueCursor || p.History != nil
	if p.ByWindows() {
		// A version of a row is its transaction and its key: within one transaction only the last is ever seen.
		p.CursorKind, p.UniqueCursor = snapshot.TransactionKind, true
	}
	p.Fingerprint = fingerprint(asked, p.Syntax.Name, identity, t, keyset.ColumnNames(keyset.Pick(t.Columns, cursor)),
		keyset.ColumnNames(keyset.Pick(t.Columns, key)))
	p.findIndex()
	switch {
	case p.Tracked != nil:
		p.Whole = p.ofTable()
	case p.History != nil:
		p.Whole = p.besideHistory(asked.Where)
	}
	r.warn(cursor, key)
	p.Numbered = p.numbered(cfg)
	p.Marked = p.marked()
	return p, nil
}

// numbered is the plan that reads writers too. They tell what was delivered in overlap mode, and only where a row comes
// into sight by being written and in no other way: not where a condition may become true by itself.
func (p *Plan) numbered(cfg *Config) *Plan {
	if p.Table.Writer == nil || p.Late.Mode != late.Overlap || p.Tracked != nil || p.Sel.Query != "" || p.Table.View ||
		cfg.Where != "" || !p.KeyProved {
		return nil
	}
	n := *p
	n.Sel.Columns = append(slices.Clip(p.Sel.Columns), p.Table.Writer.Column)
	n.Sel.Writer = p.Table.Writer
	return &n
}

// NotChosen is the mark of a row that source__where does not choose, as JSON.
const NotChosen = `"n"`

// marked is the plan of all rows, chosen or not.
func (p *Plan) marked() *Plan {
	if p.Sel.Where == "" || p.Sel.Query != "" || p.Table.View {
		return nil
	}
	m := *p
	mark := engine.Column{Name: "rowrelay chosen", Value: p.Syntax.Words}
	mark.Value.Expr = "CASE WHEN (\n" + engine.Literal(p.Sel.Where) + "\n) THEN 'y' ELSE 'n' END"
	m.Sel.Columns = append(slices.Clip(p.Sel.Columns), mark)
	m.Sel.Marked = true
	return &m
}

// Live is the plan of live rows. Recorded changes, and windows between snapshots, are read with those that
// source__where does not choose: what it chooses may be so far apart that no page of it would end in time, and no
// position would pass the others.
func (p *Plan) Live() *Plan {
	if p.Marked != nil && (p.Tracked != nil || p.ByWindows()) {
		return p.Marked
	}
	return p
}

// describeCursor decides the kind of the stored cursor and where Event.Time comes from.
func (p *Plan) describeCursor(t engine.Table, cursor []int) {
	for n, i := range cursor {
		k := t.Columns[i].Value.Kind
		if k.IsTime() && p.TimeOf < 0 {
			p.TimeOf = n
		}
		p.UniqueCursor = p.UniqueCursor || k == engine.KindRowVersion
	}
	p.CursorKind = "composite+pk"
	if len(cursor) == 1 {
		p.CursorKind = kindOfCursor(t.Columns[cursor[0]].Value.Kind)
	}
}

// Zone is what zoneless values of the cursor's time column are in.
func (p *Plan) Zone(cfg *Config) *time.Location {
	if p.Sel.Columns[p.Cursor[p.TimeOf]].Value.Zoned {
		return time.UTC
	}
	return cfg.TimeZone
}

// JSONName is `"name":`.
func JSONName(name string) string { return string(append(change.AppendString(nil, name), ':')) }

// members says how the SQL trigger's format writes some columns of a table.
func members(names []string, columns []int, t *engine.Table) []change.Member {
	members := make([]change.Member, len(columns))
	for n, i := range columns {
		members[n] = change.Member{Name: names[n], Form: forms[t.Columns[i].Value.Kind]}
	}
	return members
}

var forms = map[engine.Kind]change.Form{engine.KindInteger: change.Integer, engine.KindDecimal: change.Decimal,
	engine.KindFloat: change.Float, engine.KindDate: change.Date, engine.KindTime: change.Clock}

// JSONNames are `"name":` of some columns.
func JSONNames(columns []engine.Column, at []int) []string {
	names := make([]string, len(at))
	for n, i := range at {
		names[n] = JSONName(columns[i].Name)
	}
	return names
}

// findIndex looks for an index that reads rows in the cursor's order, and writes the statement that would make one.
func (p *Plan) findIndex() {
	if p.Sel.Query != "" {
		return
	}
	order := keyset.ColumnNames(p.Sel.Order)
	for _, ix := range p.Table.Indexes {
		if ix.Partial {
			continue
		}
		if len(ix.Columns) >= len(order) && slices.Equal(ix.Columns[:len(order)], order) {
			p.IndexName = ix.Name
			return
		}
		// A unique index over a prefix leaves no ties that would need sorting.
		if ix.Unique && ix.Declared > 0 && ix.Declared <= len(ix.Columns) && ix.Declared <= len(order) &&
			slices.Equal(ix.Columns[:ix.Declared], order[:ix.Declared]) {
			p.IndexName = ix.Name
			return
		}
	}
	if p.Table.View {
		return
	}
	quoted := make([]string, len(order))
	for i, name := range order {
		quoted[i] = p.Syntax.Quote(name)
	}
	plain := strings.NewReplacer(".", "_", " ", "_").Replace(p.Table.Name + "_" + strings.Join(order, "_"))
	if len(plain) > 50 {
		plain = plain[:50]
	}
	p.IndexAdvice = "CREATE INDEX " + p.Syntax.Quote("ix_"+strings.ToValidUTF8(plain, "")) + " ON " + p.Sel.From + " (" +
		strings.Join(quoted, ", ") + ")"
}

// Kinds names the columns of cursor and key with the kinds of their values.
func (p *Plan) Kinds() string {
	parts := make([]string, len(p.Sel.Order))
	for i := range p.Sel.Order {
		col := &p.Sel.Order[i]
		parts[i] = strconv.Quote(col.Name) + " " + col.Value.Kind.String()
	}
	return strings.Join(parts, ", ")
}

// Collations names the texts among the columns of cursor and key with what they are sorted by.
func (p *Plan) Collations() string {
	var parts []string
	for i := range p.Sel.Order {
		if col := &p.Sel.Order[i]; col.Sorted != "" {
			parts = append(parts, strconv.Quote(col.Name)+" "+col.Sorted)
		}
	}
	return strings.Join(parts, ", ")
}

// Snapshots are the plan's, where it is read by them.
func (p *Plan) Snapshots() snapshot.Reader {
	r := snapshot.Reader{Dialect: p.Dialect, Sel: &p.Sel, Key: keyset.Pick(p.Sel.Columns, p.Key)}
	if p.Sel.Query == "" && !p.Table.View {
		r.Table = p.Table.Identifying
	}
	if c := p.Table.Changes; c != nil {
		r.Head, r.Floor = c.Head, c.Floor
	}
	return r
}

// Complete fills in the defaults and checks what can be checked without a database.
func (c *Config) Complete() error {
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Connections == 0 {
		c.Connections = 4
	}
	if c.MaxRowBytes == 0 {
		c.MaxRowBytes = 4 << 20
	}
	if c.TimeZone == nil {
		c.TimeZone = time.UTC
	}
	if c.NullCursor == "" {
		c.NullCursor = "report"
	}
	c.Query, c.Where = strings.TrimSpace(c.Query), strings.TrimSpace(c.Where)
	var faults []error
	if (c.Table == "") == (c.Query == "") {
		faults = append(faults, errors.New("give one of source__table and source__query, not both"))
	}
	if c.NullCursor != "report" && c.NullCursor != "fail" {
		faults = append(faults, fmt.Errorf("source__null_cursor is %q: it is report or fail", c.NullCursor))
	}
	if c.Op != "" && c.Op != "upsert" && c.Op != "delete" {
		faults = append(faults, fmt.Errorf("source__op is %q: it is upsert or delete", c.Op))
	}
	if c.Op == "delete" && c.DeleteWhen != "" {
		faults = append(faults, errors.New("source__op=delete makes every row a delete: remove source__delete_when, or source__op"))
	}
	if c.Tracked {
		faults = append(faults, c.checkTracked())
	}
	if c.Timeout < 0 || c.Connections < 0 || c.MaxRowBytes < 0 {
		faults = append(faults, errors.New("source__timeout, source__connections and max_row_bytes must be positive"))
	}
	faults = append(faults, c.checkLate())
	return errors.Join(faults...)
}
