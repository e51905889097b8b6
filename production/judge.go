// Package production is the checklist behind `rowrelay check --production` and docs/production.md: a table of items,
// and for each the judge that finds a verdict.
//
// A group of items is a file: its part of the table first, its judges below. [Judge] reads an [inspect.App]: the
// settings, and what was asked of databases, stores and files. Nothing here asks anything itself.
package production

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
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

// Known reports whether the checklist has an item.
func Known(id string) bool {
	return slices.ContainsFunc(checklist(), func(i item) bool { return i.id == id })
}

// Judge answers every item from the facts. The accepted items are shown as they are, and not counted as to mend.
func Judge(f *inspect.App, accepted []string) *Report {
	report := &Report{App: f.Config.State.AppName, Counts: map[string]int{}}
	for _, i := range checklist() {
		judged := Judged{ID: i.id, Group: i.group, Asks: i.asks}
		if i.app != nil {
			judged.Answers = append(judged.Answers, i.app(f))
		} else {
			for _, p := range f.Pollers {
				found := i.judge(f, p)
				found.Of = p.Config.Name
				judged.Answers = append(judged.Answers, found)
			}
		}
		for n := range judged.Answers {
			found := &judged.Answers[n]
			found.Seen = plaintext.Line(found.Seen)
			if found.Mend == "" && (found.Verdict == ToMend || found.Verdict == CannotTell) {
				found.Mend = i.mend
			}
			found.Accepted = found.Verdict == ToMend && slices.Contains(accepted, i.id)
			if found.Accepted {
				report.Counts["accepted"]++
				continue
			}
			report.Counts[string(found.Verdict)]++
		}
		report.Items = append(report.Items, judged)
	}
	return report
}

// judge answers the item for one poller.
func (i *item) judge(f *inspect.App, p *inspect.Poller) Answer {
	switch {
	case p.Can(i.needs):
	case p.Can(mode.Leases):
		return none("its position, and who works on what, is in the tables of its leases")
	default:
		return none("%s", i.without)
	}
	return i.each(f, p)
}

// list joins names for people.
func list(names []string) string { return strings.Join(names, ", ") }
