package statuspage

import (
	"net/http"
	"strings"
	"testing"
)

// TestAnswersAreForWhoIsLoggedIn: what a receiver said may echo a row. Who holds the token reads it, where events are
// listed and where the page asks before something is done; a script, and a desk where nobody can log in, do not.
func TestAnswersAreForWhoIsLoggedIn(t *testing.T) {
	const answer, without = "answered 422: «no such customer: 4711»", "answered 422: «…»"
	open := newDesk(t, "")
	d := newDesk(t, token)
	for _, desk := range []*desk{open, d} {
		for i := range desk.shop.report.Outputs {
			o := &desk.shop.report.Outputs[i]
			for j := range o.Letters {
				o.Letters[j].Reason, o.Letters[j].Answered = without, answer
			}
			for j := range o.Entries {
				o.Entries[j].Reason, o.Entries[j].Answered = without, answer
			}
		}
	}
	d.logIn()
	letter := d.shop.report.Outputs[1].Letters[0].ID
	d.wants("the list", d.send("GET", "/status", ""), http.StatusOK, answer)
	d.wants("the question", d.send("GET", "/status?do=replay&poller=orders&letter="+letter, ""), http.StatusOK, answer)
	for name, page := range map[string]*reply{
		"without a login": open.send("GET", "/status", "", "Host", "localhost"),
		"a script":        d.send("GET", "/status.json", ""),
	} {
		if !strings.Contains(page.text, "answered 422") || strings.Contains(page.text, "no such") {
			t.Errorf("%s: %s", name, page.text)
		}
	}
}
