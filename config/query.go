package config

import (
	"github.com/rowrelay/rowrelay/config/kind"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/sqltext"
)

// engineOf names the engine of a connection; "" when the connection does not tell.
func engineOf(d Database) string {
	if d.Server != "" {
		return dsn.SQLServer
	}
	return dsn.Engine(d.Setting, d.ConnectionString.Reveal())
}

// queryFlaw says what keeps a query from being paged, nil when nothing does.
func queryFlaw(query, engine string) *kind.Flaw { return textFlaw(query, engine, sqltext.Syntax.Query) }

// conditionFlaw says what keeps a condition from standing in parentheses.
func conditionFlaw(where, engine string) *kind.Flaw {
	return textFlaw(where, engine, sqltext.Syntax.Condition)
}

// textFlaw reads a text as its engine would. Where the engine is not known, the text is read as each of them would, and
// the readings in which it is whole are believed.
func textFlaw(text, engine string, check func(sqltext.Syntax, string) *sqltext.Flaw) *kind.Flaw {
	var broken, found *sqltext.Flaw
	whole, swallows := false, false
	for _, syntax := range sqltext.Of(engine) {
		f, read := check(syntax, text), syntax.Scan(text)
		if read.Broken != "" {
			broken = f
			continue
		}
		whole = true
		swallows = swallows || read.LineComment
		if found == nil {
			found = f
		}
	}
	switch {
	case !whole:
		return kind.Wrong(broken.Problem, broken.Remedy)
	case found != nil:
		return kind.Wrong(found.Problem, found.Remedy)
	case swallows:
		return kind.Wrong("ends in a comment that would swallow what is put after it",
			"Write the comment as /* … */, or leave it out")
	}
	return nil
}
