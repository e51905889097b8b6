package statuspage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/status"
)

// maxForm bounds a form's body: names, a token, and as many ids as a page lists.
const maxForm = 32 << 10

// actionTime bounds an action. Operators have bounds of their own below it.
const actionTime = 30 * time.Second

// readRequest takes a request out of a form or an address. The error says what is missing.
func readRequest(values url.Values) (request, error) {
	r := request{Do: values.Get("do"), Poller: values.Get("poller"), Output: values.Get("output")}
	for _, id := range values["letter"] {
		if id != "" && !slices.Contains(r.Letters, id) {
			r.Letters = append(r.Letters, id)
		}
	}
	switch {
	case !slices.Contains([]string{doPause, doResume, doReplay, doPurge}, r.Do):
		return r, errors.New("do must be pause, resume, replay or purge")
	case r.Poller == "":
		return r, errors.New("poller is missing")
	case r.aboutLetters() && len(r.Letters) == 0:
		return r, errors.New("letter is missing: the id of a dead letter, once or more often")
	case len(r.Letters) > maxListed:
		return r, fmt.Errorf("there are more than %d letters", maxListed)
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
	case doPurge:
		return operator.Purge(ctx, r.Poller, r.Output, r.Letters, by)
	default:
		return operator.Replay(ctx, r.Poller, r.Output, r.Letters, by)
	}
}

// confirm finds what a request is about in a report; nil where there is no such thing.
func confirm(r *request, report *status.Report) *confirmation {
	for i := range report.Outputs {
		o := &report.Outputs[i]
		if o.Poller != r.Poller || o.Output != r.Output {
			continue
		}
		c := &confirmation{Asked: *r}
		name := fullName(o)
		switch r.Do {
		case doPause:
			c.Title, c.Button = "Pause "+name+"?", "Pause "+name
			c.Will = []string{"Every instance stops before its next batch; requests under way are finished, and what was accepted is committed.", kept(o)}
		case doResume:
			c.Title, c.Button = "Resume "+name+"?", "Resume "+name
			c.Will = []string{"It goes on where it stood, with its next tick. Nothing is skipped."}
		default:
			if !c.decide(o, name) {
				return nil
			}
		}
		c.Command = command(&c.Asked, o.Mode)
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

// listing is the command line that lists everything of which the page lists some.
func listing(o *status.Output, parked bool) string {
	if parked {
		return o.Mode.Command(mode.ListFailed, o.Address(), "")
	}
	return o.Mode.Command(mode.ListDead, o.Address(), "")
}

// command is the command line that does the same as a request. Ids are quoted for a shell, since they come from
// elsewhere.
func command(r *request, m mode.Mode) string {
	asked := map[string]mode.Operation{doPause: mode.Pause, doResume: mode.Resume, doReplay: mode.ReplayOne,
		doPurge: mode.PurgeOne}[r.Do]
	ids, between := make([]string, len(r.Letters)), " "
	for i, id := range r.Letters {
		ids[i] = plaintext.ShellWord(id)
	}
	if m.Can(mode.Marks) {
		between = " --id "
	}
	line := m.Command(asked, r.Poller, strings.Join(ids, between))
	if r.Output != "" && m.Can(mode.Document) {
		line += " --output " + r.Output
	}
	return line
}

// asker names who asked, for the audit line.
func asker(name string) string { return cmp.Or(short(name), "unknown") }

// short is what somebody sent, for a log and the page.
func short(text string) string { return plaintext.Cut(plaintext.Line(text), 200) }
