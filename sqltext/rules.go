package sqltext

import (
	"slices"
	"strings"
)

// Query says what keeps a query from being paged, as part of our statement; nil when nothing does. Only the outer level
// counts, hints excepted: a subquery may have its own TOP or ORDER BY.
func (s Syntax) Query(query string) *Flaw {
	text := s.Scan(query)
	if text.Broken != "" {
		return brokenFlaw(text.Broken)
	}
	words := text.Words
	if len(words) == 0 || !slices.Contains([]string{"select", "with", "("}, words[0].Text) {
		return &Flaw{"does not begin with SELECT", "Write one SELECT, such as SELECT id, total, updated_at FROM orders"}
	}
	if has(words, ";") {
		return &Flaw{"has a semicolon", "Write one statement, without a semicolon at its end"}
	}
	for i := range words {
		if f := s.clause(words, i); f != nil {
			return f
		}
	}
	return s.parameter(words)
}

// Condition says what keeps a condition from standing in parentheses; nil when nothing does.
func (s Syntax) Condition(where string) *Flaw {
	text := s.Scan(where)
	if text.Broken != "" {
		return brokenFlaw(text.Broken)
	}
	words := text.Words
	switch {
	case has(words, ";"):
		return &Flaw{"has a semicolon", "Write one condition, without a semicolon"}
	case len(words) == 0:
		return &Flaw{"holds no condition", "Remove the setting, or write one"}
	case words[0].Text == "where":
		return &Flaw{"begins with WHERE", "Write only the condition that follows it"}
	case slices.Contains([]string{"and", "or", "order", "group", "limit"}, words[0].Text):
		return &Flaw{"begins with " + strings.ToUpper(words[0].Text), "Write a condition"}
	}
	for i, w := range words {
		if w.Depth == 0 && (w.Text == "order" || w.Text == "group") && after(words, i) == "by" {
			return &Flaw{"has " + strings.ToUpper(w.Text) + " BY", "Remove it: Rowrelay orders by the cursor and the key"}
		}
	}
	return s.parameter(words)
}

// parameter says whether a text has a parameter: it would be given a value that is meant for one of ours.
func (s Syntax) parameter(words []Word) *Flaw {
	for i, w := range words {
		name := w.Text[1:]
		if !strings.Contains(s.parameters, w.Text[:1]) || strings.HasPrefix(name, "@") {
			continue // SQL Server's @@VERSION is none
		}
		if next := after(words, i); name == "" && w.Text != "?" {
			name = next // $ and : stand alone
		}
		return &Flaw{"has the parameter " + w.Text[:1] + name, "Write the value itself"}
	}
	return nil
}

func brokenFlaw(problem string) *Flaw {
	return &Flaw{problem, "Close what was opened, and try the statement in a query tool first"}
}

// clause looks at the word at i.
func (s Syntax) clause(words []Word, i int) *Flaw {
	w := words[i]
	if before(words, i) == "." || before(words, i) == "as" {
		return nil // a column's name or label
	}
	if s.hints && w.Text == "(" && hintsDirtyReads(words, i) {
		return &Flaw{"has a NOLOCK hint", "Remove it: dirty reads show rows that never were, and skip rows that are"}
	}
	if w.Depth > 0 {
		return nil
	}
	switch next := after(words, i); {
	case s.top && w.Text == "top" && slices.Contains([]string{"select", "distinct", "all"}, before(words, i)):
		return outer("TOP", "Remove TOP: Rowrelay pages by itself (batch_size)")
	case s.limit && w.Text == "limit", s.offset && w.Text == "offset", s.fetch && w.Text == "fetch":
		word := strings.ToUpper(w.Text)
		return outer(word, "Remove "+word+": Rowrelay pages by itself (batch_size)")
	case w.Text == "order" && next == "by":
		return outer("ORDER BY", "Remove ORDER BY: Rowrelay orders by the cursor and the key")
	case w.Text == "for" && slices.Contains([]string{"update", "share", "no", "key"}, next):
		return &Flaw{"locks rows (FOR " + strings.ToUpper(next) + ")", "Remove that: Rowrelay only reads"}
	case w.Text == "into":
		return &Flaw{"writes (INTO)", "Write one SELECT that only reads"}
	}
	return nil
}

func outer(what, remedy string) *Flaw { return &Flaw{"has an outer " + what, remedy} }

// hintsDirtyReads reports whether the parentheses that open at i hold table hints with NOLOCK or READUNCOMMITTED among
// them: WITH (NOLOCK, INDEX(ix)), or the old FROM t (NOLOCK).
func hintsDirtyReads(words []Word, i int) bool {
	depth, dirty := words[i].Depth, false
	for i++; i < len(words); i++ {
		switch w := words[i]; {
		case w.Depth <= depth:
			return dirty
		case w.Depth > depth+1:
		case w.Text == "select":
			return false
		case (w.Text == "nolock" || w.Text == "readuncommitted") && before(words, i) != ".":
			dirty = true
		}
	}
	return dirty
}

func has(words []Word, text string) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return w.Text == text })
}

func before(words []Word, i int) string {
	if i == 0 {
		return ""
	}
	return words[i-1].Text
}

func after(words []Word, i int) string {
	if i+1 >= len(words) {
		return ""
	}
	return words[i+1].Text
}
