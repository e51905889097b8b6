// Package sqltext reads the SQL that a user writes into settings: a query, a condition. It is no parser. It knows where
// strings, names and comments end, and which words stand outside of them, as each engine would read the text.
//
// The text comes from the application's own settings, so this is no defence against an attacker. It keeps a slip (a
// stray parenthesis, a comment that is left open, a second statement) from changing what our part of the statement
// means.
//
// Settings are checked by it when they are loaded, and sources check again before they send a statement: both ask the
// same [Syntax.Query] and [Syntax.Condition].
package sqltext

// Syntax is how an engine writes SQL, as far as it decides what is a string, a name or a comment, and which clauses
// there are.
type Syntax struct {
	// Engine is its name: sqlserver, postgres, mysql or sqlite.
	Engine string

	backslash  bool // a backslash escapes inside strings, "…" is a string (MySQL; PostgreSQL only in E'…')
	brackets   bool // […] is a name
	backticks  bool // `…` is a name
	dollars    bool // $tag$…$tag$ is a string
	nested     bool // comments nest
	hash       bool // # begins a comment
	dashSpace  bool // -- begins a comment only before a space
	executable bool // /*! … */ is executed

	top, limit, offset, fetch bool // the words that limit a result
	hints                     bool // WITH (NOLOCK), or FROM t (NOLOCK)

	parameters string // the characters that begin a parameter
}

// The engines.
var (
	SQLServer = Syntax{Engine: "sqlserver", brackets: true, nested: true, top: true, hints: true, parameters: "@"}
	Postgres  = Syntax{Engine: "postgres", dollars: true, nested: true, limit: true, offset: true, fetch: true,
		parameters: "$"}
	MySQL = Syntax{Engine: "mysql", backslash: true, backticks: true, hash: true, dashSpace: true, executable: true,
		limit: true, fetch: true, parameters: "?"}
	SQLite = Syntax{Engine: "sqlite", brackets: true, backticks: true, limit: true, parameters: "?:@$"}
)

// Of returns the syntax of an engine, or those of all engines where its name is none of theirs.
func Of(engine string) []Syntax {
	all := []Syntax{SQLServer, Postgres, MySQL, SQLite}
	for _, s := range all {
		if s.Engine == engine {
			return []Syntax{s}
		}
	}
	return all
}

// Flaw is what is wrong with a text. Problem continues "the text …"; Remedy is a sentence without its full stop.
type Flaw struct{ Problem, Remedy string }
