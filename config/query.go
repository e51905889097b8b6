package config

import (
	"regexp"
	"slices"
	"strings"
)

// engine is a database as far as reading SQL text goes; "" when the connection does not tell.
type engine string

const (
	sqlServer engine = "sqlserver"
	postgres  engine = "postgres"
	mySQL     engine = "mysql"
	sqLite    engine = "sqlite"
)

var readings = map[engine]reading{sqlServer: readSQLServer, postgres: readPostgres, mySQL: readMySQL, sqLite: readSQLite}

var mySQLAddress = regexp.MustCompile(`@(tcp|unix)\(`)

// engineOf tells the engine by the form of the connection, as package source does when it parses it.
func engineOf(d Database) engine {
	lower := strings.ToLower(d.ConnectionString.Reveal())
	switch {
	case d.Server != "", strings.HasPrefix(lower, "sqlserver:"):
		return sqlServer
	case strings.HasPrefix(lower, "postgres:"), strings.HasPrefix(lower, "postgresql:"):
		return postgres
	case strings.HasPrefix(lower, "mysql:"), mySQLAddress.MatchString(lower):
		return mySQL
	case strings.HasPrefix(lower, "sqlite:"):
		return sqLite
	case strings.Contains(lower, "server=") || strings.Contains(lower, "data source="):
		return sqlServer
	}
	return ""
}

// queryFlaw says what keeps a query from being paged, nil when nothing does. Only the outer level counts: a subquery may
// have its own TOP or ORDER BY. Where the engine is not known, the text is read as each of them would, and the readings
// in which it is whole are believed.
func queryFlaw(query string, e engine) *flaw {
	return eachReading(query, e, func(s scanned, e engine) *flaw {
		if f := selectFlaw(s); f != nil {
			return f
		}
		for i := range s.words {
			if f := clauseFlaw(s.words, i, e); f != nil {
				return f
			}
		}
		return commentFlaw(s)
	})
}

// conditionFlaw says what keeps a condition from standing in parentheses.
func conditionFlaw(where string, e engine) *flaw {
	return eachReading(where, e, func(s scanned, _ engine) *flaw {
		for _, w := range s.words {
			if w.text == ";" {
				return &flaw{"has a semicolon", "Write one condition, without a semicolon"}
			}
		}
		if len(s.words) > 0 && s.words[0].text == "where" {
			return &flaw{"begins with WHERE", "Write only the condition that follows it"}
		}
		return commentFlaw(s)
	})
}

func eachReading(text string, e engine, check func(scanned, engine) *flaw) *flaw {
	engines := []engine{e}
	if e == "" {
		engines = []engine{sqlServer, postgres, mySQL, sqLite}
	}
	broken, whole := "", false
	var found *flaw
	for _, e := range engines {
		s := scan(text, readings[e])
		if s.broken != "" {
			broken = s.broken
			continue
		}
		whole = true
		if f := check(s, e); f != nil && found == nil {
			found = f
		}
	}
	if !whole {
		return &flaw{broken, "Close what was opened, and try the statement in a query tool first"}
	}
	return found
}

func selectFlaw(s scanned) *flaw {
	if len(s.words) == 0 || (s.words[0].text != "select" && s.words[0].text != "with" && s.words[0].text != "(") {
		return &flaw{"does not begin with SELECT", "Write one SELECT, such as SELECT id, total, updated_at FROM orders"}
	}
	for _, w := range s.words {
		if w.text == ";" {
			return &flaw{"has a semicolon", "Write one statement, without a semicolon at its end"}
		}
	}
	return nil
}

func commentFlaw(s scanned) *flaw {
	if s.lineComment {
		return &flaw{"ends in a comment that would swallow what is put behind it", "Write the comment as /* … */, or leave it out"}
	}
	return nil
}

// clauseFlaw looks at the word at i of the outer level.
func clauseFlaw(words []word, i int, e engine) *flaw {
	w := words[i]
	if w.depth > 0 || before(words, i) == "." || before(words, i) == "as" {
		return nil // inside parentheses, or a column's name or label
	}
	switch {
	case w.text == "top" && e == sqlServer && slices.Contains([]string{"select", "distinct", "all"}, before(words, i)):
		return outerFlaw("TOP", "Remove TOP: Rowrelay pages by itself (batch_size)")
	case w.text == "limit" && e != sqlServer, w.text == "offset" && e == postgres,
		w.text == "fetch" && (e == postgres || e == mySQL):
		return outerFlaw(strings.ToUpper(w.text), "Remove "+strings.ToUpper(w.text)+": Rowrelay pages by itself (batch_size)")
	case w.text == "order" && after(words, i) == "by":
		return outerFlaw("ORDER BY", "Remove ORDER BY: Rowrelay orders by the cursor and the key")
	case w.text == "(" && e == sqlServer && hintsDirtyReads(words[i+1:]):
		return outerFlaw("NOLOCK hint", "Remove it: dirty reads show rows that never were, and skip rows that are")
	}
	return nil
}

func outerFlaw(what, mend string) *flaw { return &flaw{"has an outer " + what, mend} }

// hintsDirtyReads reports whether the parentheses that words begin in hold table hints with NOLOCK or READUNCOMMITTED
// among them: WITH (NOLOCK, INDEX(ix)), or the old FROM t (NOLOCK). A subquery is not looked into.
func hintsDirtyReads(words []word) bool {
	dirty := false
	for i, w := range words {
		switch {
		case w.depth == 0:
			return dirty
		case w.depth > 1:
		case w.text == "select":
			return false
		case (w.text == "nolock" || w.text == "readuncommitted") && before(words, i) != ".":
			dirty = true
		}
	}
	return dirty
}

func before(words []word, i int) string {
	if i == 0 {
		return ""
	}
	return words[i-1].text
}

func after(words []word, i int) string {
	if i+1 >= len(words) {
		return ""
	}
	return words[i+1].text
}
