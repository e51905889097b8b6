// Package production is the checklist behind `rowrelay check --production` and docs/production.md: a table of items,
// and for each the judge that finds a verdict.
//
// A group of items is a file: its part of the table first, its judges below. [Judge] reads an [inspect.App]: the
// settings, and what was asked of databases, stores and files. Nothing here asks anything itself.
package production

import (
	"fmt"
	"strings"
)

// Verdict is what is found of an item.
type Verdict string

// The verdicts.
const (
	OK         Verdict = "ok"
	ToMend     Verdict = "to mend"
	CannotTell Verdict = "cannot tell"    // from here: a person has to look
	NoMatter   Verdict = "does not apply" // to this app
)

// Answer is the verdict on an item for the app, or for one poller.
type Answer struct {
	Of       string  `json:"of,omitempty"` // the poller; "" is the app
	Verdict  Verdict `json:"verdict"`
	Seen     string  `json:"seen"`
	Mend     string  `json:"mend,omitempty"`
	Accepted bool    `json:"accepted,omitempty"` // it is meant to be so
}

func good(format string, args ...any) Answer {
	return Answer{Verdict: OK, Seen: fmt.Sprintf(format, args...)}
}
func none(format string, args ...any) Answer {
	return Answer{Verdict: NoMatter, Seen: fmt.Sprintf(format, args...)}
}
func bad(mend, format string, args ...any) Answer {
	return Answer{Verdict: ToMend, Seen: fmt.Sprintf(format, args...), Mend: mend}
}
func unknown(mend, format string, args ...any) Answer {
	return Answer{Verdict: CannotTell, Seen: fmt.Sprintf(format, args...), Mend: mend}
}

// notKnown says why something is not known: the settings, or what they lead to, have to be right first.
func notKnown(why string) Answer { return unknown("correct the settings first", "%s", why) }

// Report is the checklist with its answers.
type Report struct {
	App    string         `json:"app"`
	Items  []Judged       `json:"items"`
	Counts map[string]int `json:"counts"` // answers by verdict; those that are accepted count as such
}

// Judged is one item with its answers: one for the app, or one for each poller.
type Judged struct {
	ID      string   `json:"id"`
	Group   string   `json:"group"`
	Asks    string   `json:"asks"`
	Answers []Answer `json:"answers"`
}

// ToMend counts the answers that are to mend and not accepted.
func (r *Report) ToMend() int { return r.Counts[string(ToMend)] }

// list joins names for people.
func list(names []string) string { return strings.Join(names, ", ") }
