package production

import (
	"slices"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
)

// checklist is the whole table, in the order of the page.
func checklist() []item {
	return slices.Concat(appItems(), stateItems(), timeItems(), sourceItems(), securityItems(), outputItems(),
		outboxItems(), operationItems())
}

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
