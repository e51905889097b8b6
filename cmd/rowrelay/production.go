package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// verdict is what is found of an item of the production checklist.
type verdict string

const (
	isOK       verdict = "ok"
	toMend     verdict = "to mend"
	cannotTell verdict = "cannot tell"    // from here: a person has to look
	noMatter   verdict = "does not apply" // to this app
)

// item is one line of the production checklist: of the command, and of docs/production.md, which is written from this table.
// Exactly one of app and each is set.
type item struct {
	id, group string
	asks      string // what should hold, one sentence
	why       string // what goes wrong otherwise
	mend      string // how it is mended in general; an answer may say more
	app       func(f *facts) answer
	each      func(f *facts, p *pollerFacts) answer
	untold    bool // nothing that the command can see decides it
}

// answer is the verdict on an item for the app, or for one poller.
type answer struct {
	Of       string  `json:"of,omitempty"` // the poller; "" is the app
	Verdict  verdict `json:"verdict"`
	Seen     string  `json:"seen"`
	Mend     string  `json:"mend,omitempty"`
	Accepted bool    `json:"accepted,omitempty"` // by --accept
}

func good(format string, args ...any) answer {
	return answer{Verdict: isOK, Seen: fmt.Sprintf(format, args...)}
}
func none(format string, args ...any) answer {
	return answer{Verdict: noMatter, Seen: fmt.Sprintf(format, args...)}
}
func bad(mend, format string, args ...any) answer {
	return answer{Verdict: toMend, Seen: fmt.Sprintf(format, args...), Mend: mend}
}
func unknown(mend, format string, args ...any) answer {
	return answer{Verdict: cannotTell, Seen: fmt.Sprintf(format, args...), Mend: mend}
}

// productionView is what `check --production` prints.
type productionView struct {
	App    string         `json:"app"`
	Items  []*itemView    `json:"items"`
	Counts map[string]int `json:"counts"` // answers by verdict; those that are accepted count as such
}

type itemView struct {
	ID      string   `json:"id"`
	Group   string   `json:"group"`
	Asks    string   `json:"asks"`
	Answers []answer `json:"answers"`
}

// checkProduction goes through the checklist. It sends nothing and changes nothing.
func checkProduction(ctx context.Context, c *console, names, accepted []string) error {
	for _, id := range accepted {
		if !slices.ContainsFunc(checklist(), func(i item) bool { return i.id == id }) {
			return fmt.Errorf("--accept %s: there is no such item; docs/production.md lists them", id)
		}
	}
	cfg, err := load(c)
	if err != nil {
		return err
	}
	local := localNames(c)
	a := wire(c, cfg)
	defer func() { _ = a.Close() }() // nothing was written
	chosen, err := a.choose(names)
	if err != nil {
		return err
	}
	f := gather(ctx, c, a, chosen)
	f.local = local
	view := judgeAll(f, accepted)
	if c.json {
		encoder := json.NewEncoder(c.out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(view)
	} else {
		err = printProduction(c.out, view)
	}
	if n := view.Counts[string(toMend)]; err == nil && n > 0 {
		err = &exitError{errors.New("the production checklist has items to mend")}
	}
	return err
}

// judgeAll answers every item from the facts.
func judgeAll(f *facts, accepted []string) *productionView {
	view := &productionView{App: f.app.cfg.State.AppName, Counts: map[string]int{}}
	for _, i := range checklist() {
		v := &itemView{ID: i.id, Group: i.group, Asks: i.asks}
		if i.app != nil {
			v.Answers = append(v.Answers, i.app(f))
		} else {
			for _, p := range f.pollers {
				found := i.each(f, p)
				found.Of = p.w.cfg.Name
				v.Answers = append(v.Answers, found)
			}
		}
		for n := range v.Answers {
			found := &v.Answers[n]
			found.Seen = oneLine(found.Seen)
			if found.Mend == "" && (found.Verdict == toMend || found.Verdict == cannotTell) {
				found.Mend = i.mend
			}
			found.Accepted = found.Verdict == toMend && slices.Contains(accepted, i.id)
			if found.Accepted {
				view.Counts["accepted"]++
				continue
			}
			view.Counts[string(found.Verdict)]++
		}
		view.Items = append(view.Items, v)
	}
	return view
}

// list joins names for people.
func list(names []string) string { return strings.Join(names, ", ") }
