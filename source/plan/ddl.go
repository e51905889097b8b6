package plan

import (
	"github.com/rowrelay/rowrelay/checkpointed/late"
)

// DDL is the text that makes an exact cursor for the table, with what to set afterwards: for people to read and to run.
// "" where the table has one, for a query or view, and where the engine has none.
func (p *Plan) DDL() string {
	exactColumn := p.Syntax.Advice.ExactColumn
	if p.Late.Mode == late.Exact || p.Table.View || p.History != nil || p.Table.From == "" || exactColumn == nil {
		return ""
	}
	var key []string
	for _, i := range p.Key {
		key = append(key, p.Sel.Columns[i].Name)
	}
	return exactColumn(&p.Table, key)
}
