package statuspage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/status"
)

// The actions, as forms and scripts name them.
const (
	doPause  = "pause"
	doResume = "resume"
	doReplay = "replay"
)

// maxForm bounds a form's body: names, an id and a token.
const maxForm = 16 << 10

// actionTime bounds an action. Operators have bounds of their own below it.
const actionTime = 30 * time.Second

// request is what a button asks for.
type request struct {
	Do, Poller, Output, Letter string
}

// readRequest takes a request out of a form or an address. The error says what is missing.
func readRequest(values url.Values) (request, error) {
	r := request{values.Get("do"), values.Get("poller"), values.Get("output"), values.Get("letter")}
	switch {
	case r.Do != doPause && r.Do != doResume && r.Do != doReplay:
		return r, errors.New("do must be pause, resume or replay")
	case r.Poller == "":
		return r, errors.New("poller is missing")
	case r.Do == doReplay && r.Letter == "":
		return r, errors.New("letter is missing: the id of the dead letter to replay")
	}
	return r, nil
}

// readForm reads the body of an action: a form and nothing else, since other sites may send text without asking, and
// JSON after asking only. The status goes with the error.
func readForm(w http.ResponseWriter, r *http.Request) (int, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return http.StatusUnsupportedMediaType, errors.New("send application/x-www-form-urlencoded")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return http.StatusRequestEntityTooLarge, fmt.Errorf("the form is larger than %d bytes", maxForm)
		}
		return http.StatusBadRequest, errors.New("the form cannot be read")
	}
	return http.StatusOK, nil
}

// carryOut does what was asked for, although the asker may go away meanwhile.
func carryOut(ctx context.Context, operator status.Operator, r request, by string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actionTime)
	defer cancel()
	switch r.Do {
	case doPause:
		return operator.Pause(ctx, r.Poller, r.Output, by)
	case doResume:
		return operator.Resume(ctx, r.Poller, r.Output, by)
	default:
		return operator.Replay(ctx, r.Poller, r.Output, r.Letter, by)
	}
}

// confirmation is what the page says before anything is done.
type confirmation struct {
	Asked   request
	Title   string // Pause orders?
	Button  string // Pause orders
	Will    []string
	Command string // that does the same
	Letter  *status.Letter
	Blocked bool // Letter is parked, and waits for an operator
}

// confirm finds what a request is about in a report; nil where there is no such thing.
func confirm(r request, report *status.Report) *confirmation {
	for i := range report.Outputs {
		o := &report.Outputs[i]
		if o.Poller != r.Poller || o.Output != r.Output {
			continue
		}
		c := &confirmation{Asked: r, Command: command(r, o.Mode)}
		name := fullName(o)
		switch r.Do {
		case doPause:
			c.Title, c.Button = "Pause "+name+"?", "Pause "+name
			c.Will = []string{"Every instance stops before its next batch; requests under way are finished, and what was accepted is committed.", kept(o)}
		case doResume:
			c.Title, c.Button = "Resume "+name+"?", "Resume "+name
			c.Will = []string{"It goes on where it stood, with its next tick. Nothing is skipped."}
		case doReplay:
			if c.Letter = letterOf(o, r.Letter); c.Letter == nil {
				return nil
			}
			c.Title, c.Button = "Replay this dead letter of "+name+"?", "Replay it"
			c.Will = replayed(o)
			if c.Blocked = c.Letter.Blocked; c.Blocked {
				c.Title = "Replay this parked event of " + name + "?"
				c.Will = append(c.Will, "What waits behind it follows once it is delivered; until then it stays where it is.")
			}
		}
		return c
	}
	return nil
}

func kept(o *status.Output) string {
	if o.Mode.Can(mode.Marks) {
		return "Writers are not hindered: new events wait as PENDING until you resume."
	}
	return "Changed rows wait in the source until you resume. Nothing is lost, as long as the source keeps them."
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

// listing is the command line that lists everything of which the page lists some.
func listing(o *status.Output, parked bool) string {
	if parked {
		return o.Mode.Command(mode.ListFailed, o.Address(), "")
	}
	return o.Mode.Command(mode.ListDead, o.Address(), "")
}

// command is the command line that does the same as a request. Ids are quoted for a shell, since they come from
// elsewhere.
func command(r request, m mode.Mode) string {
	asked := map[string]mode.Operation{doPause: mode.Pause, doResume: mode.Resume, doReplay: mode.ReplayOne}[r.Do]
	line := m.Command(asked, r.Poller, plaintext.ShellWord(r.Letter))
	if r.Output != "" && m.Can(mode.Document) {
		line += " --output " + r.Output
	}
	return line
}

func fullName(o *status.Output) string {
	if o.Output == "" {
		return o.Poller
	}
	return o.Poller + " · " + o.Output
}

// asker names who asked, for the audit line.
func asker(name string) string { return cmp.Or(short(name), "unknown") }

// short is what somebody sent, for a log and the page.
func short(text string) string { return plaintext.Cut(plaintext.Line(text), 200) }
