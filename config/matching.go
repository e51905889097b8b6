package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Matching says which tables a pattern means.
type Matching []match

// match is one part of a pattern: a schema and a name in which * stands for any text and ? for one character, without
// regard to case. "" is the schema that a name without one is looked for in.
type match struct {
	schema, name *regexp.Regexp
	within       string // the schema as it is written
	without      bool
}

// schemas reports whether tables of more than one schema can be meant: then a poller is called by the schema, too.
func (m Matching) schemas() bool {
	first := ""
	for i, one := range m {
		if i == 0 {
			first = one.within
		}
		if !one.without && (one.within != first || strings.ContainsAny(one.within, "*?")) {
			return true
		}
	}
	return false
}

// Match reports whether a table is meant: by one part of the pattern, and excluded by none. current says that its name
// is found without its schema.
func (m Matching) Match(schema, name string, current bool) bool {
	meant := false
	for _, one := range m {
		within := current
		if one.schema != nil {
			within = one.schema.MatchString(schema)
		}
		switch {
		case !within || !one.name.MatchString(name):
		case one.without:
			return false
		default:
			meant = true
		}
	}
	return meant
}

// parseMatching reads "sales.*, !sales.tmp_*".
func parseMatching(text string) (list Matching, problem string) {
	for part := range strings.SplitSeq(text, ",") {
		part, without := strings.CutPrefix(strings.TrimSpace(part), "!")
		schema, name, qualified := strings.Cut(part, ".")
		if !qualified {
			schema, name = "", part
		}
		if name == "" || qualified && schema == "" || strings.ContainsAny(part, "\"`[]!") {
			return nil, fmt.Sprintf("has a part %q that is no pattern of tables", part)
		}
		one := match{name: glob(name), within: strings.ToLower(schema), without: without}
		if qualified {
			one.schema = glob(schema)
		}
		list = append(list, one)
	}
	if !slices.ContainsFunc(list, func(m match) bool { return !m.without }) {
		return nil, "only leaves tables out"
	}
	return list, ""
}

func glob(text string) *regexp.Regexp {
	text = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(strings.TrimSpace(text)))
	return regexp.MustCompile("(?is)^" + text + "$")
}
