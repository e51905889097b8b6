package statuspage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/rowrelay/rowrelay/status"
)

// page is what every page has.
type page struct {
	Title string
	App   string
	// Hosted: under the Functions host, which asks for the keys.
	Hosted bool
	// Carry is what every link takes along: the function key of a browser that came with one in its address.
	Carry url.Values
	// Root is where the status page is, from this one.
	Root string
	// Session, where one is needed, is the login; CSRF stands in its forms.
	CSRF string
	// LoggedIn shows the button to log out.
	LoggedIn bool
	// CanAct: buttons are shown. Where they are not, Why says what to set.
	CanAct bool

	Report *status.Report
	// Choice is what is shown of it, All how many outputs there are besides.
	Choice
	All int
	// Rows are the outputs as they are shown; Short says of each whether its lists are cut, because there are so many
	// pollers, Open whether its details are shown at first.
	Rows  []status.Output
	Short []bool
	Open  []bool
	Tally []tally
}

// tally is how many outputs have a health.
type tally struct {
	Health status.Health
	N      int
}

// done is what came of an action.
type done struct {
	Said   string
	Failed bool
	But    string // what was not done, where Said was; "" where all was
}

// newPage begins a page.
func newPage(title string) *page {
	return &page{Title: title, Root: here}
}

// maxListed bounds the events that are listed on a page of all pollers: it is asked for every few seconds, by a phone
// too.
const maxListed = 2 * status.MaxLetters

// maxOpen bounds the bad outputs whose details are shown at first: of more, the list says in a line each what is wrong.
const maxOpen = 3

func isBad(o *status.Output) bool { return order(o.Health) < order(status.Paused) }

// show fills the page with a report: all outputs, those that were chosen, or one poller's alone with all that is listed
// of it.
func (p *page) show(report *status.Report, chosen Choice) { //nolint:gocritic // a page is made once
	p.Choice, p.Report, p.App, p.All = chosen, report, report.App, len(report.Outputs)
	p.Rows = chosen.of(report.Outputs, report.At)
	p.keepLike(p.Rows)
	left, bad := maxListed, 0
	for i := range p.Rows {
		if isBad(&p.Rows[i]) {
			bad++
		}
	}
	for i := range p.Rows {
		o := &p.Rows[i]
		listed := len(o.Entries) + len(o.Letters)
		if p.Only == "" {
			o.Entries = o.Entries[:min(len(o.Entries), left)]
			left -= len(o.Entries)
			o.Letters = o.Letters[:min(len(o.Letters), left)]
			left -= len(o.Letters)
		}
		p.Short = append(p.Short, len(o.Entries)+len(o.Letters) < listed)
		p.Open = append(p.Open, p.Only != "" || p.All == 1 || bad <= maxOpen && isBad(o))
	}
	for _, h := range healths {
		n := 0
		for i := range report.Outputs {
			if report.Outputs[i].Health == h {
				n++
			}
		}
		if n > 0 {
			p.Tally = append(p.Tally, tally{h, n})
		}
	}
	p.Title = headline(p.Tally) + " · " + report.App
}

// says is the sentence about an output, without what its card shows below it anyway.
func says(o *status.Output) string {
	switch {
	case o.Health == status.Paused && o.Pause != nil,
		o.Health == status.Blocked && o.HeldBack != nil && o.Pause == nil: // it is blocked by that
		return ""
	case o.LastError != nil && o.LastError.Text != "":
		return strings.Replace(o.Says, ": "+o.LastError.Text, "", 1)
	}
	return o.Says
}

// headline is what a tab shows: the worst.
func headline(tallies []tally) string {
	if len(tallies) == 0 {
		return "no pollers"
	}
	worst := tallies[0]
	if len(tallies) == 1 && worst.Health == status.Healthy {
		return "all healthy"
	}
	return fmt.Sprintf("%d %s", worst.N, worst.Health)
}

// healthClass is the class of a health: a known word only.
func healthClass(h status.Health) string {
	if slices.Contains(healths, h) {
		return string(h)
	}
	return "unknown"
}

// to is the address of the status page, with values.
func (p *page) to(pairs ...string) string {
	values := url.Values{}
	for name, list := range p.Carry {
		values[name] = list
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if values.Del(pairs[i]); pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return p.Root
	}
	return p.Root + "?" + values.Encode()
}

// with is the address of the page as it is shown, with another choice of one kind.
func (p *page) with(name, value string) string { return p.to(append(p.pairs(), name, value)...) }

// render writes a page.
func (p *page) render(w http.ResponseWriter, code int, made g.Node) {
	var body bytes.Buffer
	_ = made.Render(&body) // a buffer takes all
	send(w, code, "text/html; charset=utf-8", body.Bytes())
}

func sendJSON(w http.ResponseWriter, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "the report could not be encoded", http.StatusInternalServerError)
		return
	}
	send(w, code, "application/json; charset=utf-8", append(body, '\n'))
}

func send(w http.ResponseWriter, code int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // the reader has gone
}

// said is the answer to a script.
type said struct {
	Done  string `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
}

// letterPage is a dead letter with its row.
type letterPage struct {
	status.Letter
	Poller, Output string
	Row            string // as it was given up, indented; "" where the record has none
	Cut            bool   // the row goes on
	Command        string // that shows the same
}

// Addresses of the status page: from itself, and from what lies below it.
const (
	here  = "status"
	above = "../status"
)
