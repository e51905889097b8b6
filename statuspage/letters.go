package statuspage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/status"
)

// allLetters, as a letter in an address, is every dead letter that the page lists of the output, by the filter in it.
// A form to be confirmed names each.
const allLetters = "*"

// aboutLetters reports whether a request is about dead letters.
func (r *request) aboutLetters() bool { return r.Do == doReplay || r.Do == doPurge }

// decide fills in what a replay or a purge is about, and what it will do. False: one of the letters is not listed.
func (c *confirmation) decide(o *status.Output, name string) bool {
	if c.Letters = lettersOf(o, c.Asked.Letters); c.Letters == nil {
		return false
	}
	c.Asked.Letters = nil
	for i := range c.Letters {
		c.Asked.Letters = append(c.Asked.Letters, c.Letters[i].ID)
	}
	what, it := fmt.Sprintf("these %d dead letters of %s", len(c.Letters), name), "them"
	if len(c.Letters) == 1 {
		what, it = "this dead letter of "+name, "it"
		if c.Blocked = c.Letters[0].Blocked; c.Blocked {
			what = "this parked event of " + name
		}
	}
	switch {
	case c.Asked.Do == doReplay:
		c.Title, c.Button, c.Will = "Replay "+what+"?", "Replay "+it, replayed(o)
		if c.Blocked {
			c.Will = append(c.Will, "What waits behind it follows once it is delivered; until then it stays where it is.")
		}
	case o.Mode.Can(mode.Marks):
		c.Title, c.Button = "Discard "+what+"?", "Discard "+it+" for good"
		c.Will = []string{"What is discarded is never published, which is data loss. What waits only behind it goes on."}
	default:
		c.Title, c.Button = "Purge "+what+"?", "Delete "+it+" for good"
		c.Will = []string{
			"The records are deleted, and with them the rows as they were. A row is delivered again only when it changes.",
			"What waits behind them goes on.",
		}
	}
	return true
}

func replayed(o *status.Output) []string {
	if o.Mode.Can(mode.Marks) {
		return []string{
			"The event becomes due at once, with its attempts forgotten, and is published again; what waits behind it follows in order.",
			"If it fails again, it is tried as often as max_attempts says, and is then given up again.",
		}
	}
	return []string{
		"The next tick reads the row again by its key and delivers its newest state, in order with everything else of that key.",
		"If it fails again, it is parked and given up again. A receiver that had already taken it gets it twice.",
		"If a tick is at work, the poller is paused until that has ended, and goes on by itself.",
	}
}

// lettersOf finds letters by their ids; nil where one of them is not listed.
func lettersOf(o *status.Output, ids []string) []status.Letter {
	var found []status.Letter
	for _, id := range ids {
		if id == allLetters {
			return o.Letters
		}
		letter := letterOf(o, id)
		if letter == nil {
			return nil
		}
		found = append(found, *letter)
	}
	return found
}

// letterOf finds what may be replayed: a parked event that waits for an operator, which may have no dead letter here
// (it lies in a queue, or is gone), or else a dead letter.
func letterOf(o *status.Output, id string) *status.Letter {
	for i := range o.Entries {
		if o.Entries[i].ID == id && o.Entries[i].Blocked {
			return &o.Entries[i]
		}
	}
	for i := range o.Letters {
		if o.Letters[i].ID == id {
			return &o.Letters[i]
		}
	}
	return nil
}

// letterPage is a dead letter with its row.
type letterPage struct {
	status.Letter
	Poller, Output string
	Row            string // as it was given up, indented; "" where the record has none
	Cut            bool   // the row goes on
	Command        string // that shows the same
}

// maxRow is how much of a row is shown, in bytes.
const maxRow = 256 << 10

// letter shows a dead letter with its row to who has logged in: rows are for nobody else.
func (s *standalone) letter(w http.ResponseWriter, r *http.Request, p *page) {
	query, report := r.URL.Query(), s.report(r.Context())
	p.App, p.Choice = report.App, choiceOf(query)
	of, id := query.Get("poller"), query.Get("letter")
	at := slices.IndexFunc(report.Outputs, func(o status.Output) bool {
		return o.Poller == of && o.Output == query.Get("output")
	})
	if at < 0 {
		p.finish(w, http.StatusNotFound, &done{Said: "There is no such poller or output.", Failed: true})
		return
	}
	o := &report.Outputs[at]
	listed := slices.IndexFunc(o.Letters, func(l status.Letter) bool { return l.ID == id })
	if listed < 0 {
		p.finish(w, http.StatusNotFound, &done{Said: "There is no such dead letter among those that the page lists.", Failed: true})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), actionTime)
	defer cancel()
	row, err := s.Operator.Row(ctx, o.Poller, o.Output, id, asker("status page, "+remote(r)))
	if err != nil {
		p.finish(w, statusOf(err), &done{Said: err.Error(), Failed: true})
		return
	}
	var text bytes.Buffer
	if json.Indent(&text, row, "", "  ") != nil {
		text.Reset()
		text.Write(row)
	}
	shown := &letterPage{Letter: o.Letters[listed], Poller: o.Poller, Output: o.Output,
		Row: strings.ToValidUTF8(text.String()[:min(text.Len(), maxRow)], "\uFFFD"), Cut: text.Len() > maxRow,
		Command: o.Mode.Command(mode.ShowOne, o.Address(), plaintext.ShellWord(id))}
	p.Title = "Dead letter of " + fullName(o)
	p.render(w, http.StatusOK, p.letterPage(shown))
}

// like returns the letters that have a text in their key, id or reason.
func like(letters []status.Letter, text string) []status.Letter {
	if text == "" {
		return letters
	}
	var found []status.Letter
	for i := range letters {
		l := &letters[i]
		if strings.Contains(strings.ToLower(l.Key+" "+l.ID+" "+l.Reason), strings.ToLower(text)) {
			found = append(found, *l)
		}
	}
	return found
}
