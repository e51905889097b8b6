package source

import "github.com/rowrelay/rowrelay/poller"

// ddl is the text that makes an exact cursor for the table, with what to set afterwards: for people to read and to run.
// "" where the table has one, for a query or view, and where the engine has none.
func (p *plan) ddl() string {
	exactColumn := p.syntax.Advice.ExactColumn
	if p.late.mode == poller.LateExact || p.table.View || p.table.From == "" || exactColumn == nil {
		return ""
	}
	var key []string
	for _, i := range p.key {
		key = append(key, p.sel.columns[i].Name)
	}
	return exactColumn(&p.table, key)
}
