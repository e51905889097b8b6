package plan

import (
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
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
		Context: p.named(engine.HistoryContext)}
	for i := range p.Names {
		if cfg.BeforeImage {
			p.History.Was = append(p.History.Was, p.named(engine.HistoryWas+p.Sel.Columns[i].Name))
		}
	}
}
