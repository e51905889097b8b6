package statuspage

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/status"
)

// TestDeadLettersInBulk: boxes choose some or all that are listed, a filter lists fewer, and the page that asks names
// each, so that what is confirmed is what was seen.
func TestDeadLettersInBulk(t *testing.T) {
	d := newDesk(t, token)
	d.wants("nobody is logged in", d.send("GET", "/status?do=purge&poller=orders&letter=Xo00-_aZ9k3", "", "Accept", "*/*"),
		http.StatusUnauthorized)
	d.logIn()
	page := d.send("GET", "/status", "")
	d.wants("the list", page, http.StatusOK, `type="checkbox" name="letter" value="Xo01-_aZ9k3"`, "All 3 listed",
		`name="do" value="purge"`, `name="like"`)

	two := d.send("GET", "/status?do=purge&poller=orders&letter=Xo00-_aZ9k3&letter=Xo02-_aZ9k3&letter=Xo00-_aZ9k3", "")
	d.wants("two", two, http.StatusOK, "Purge these 2 dead letters of orders?", "The records are deleted",
		`name="letter" value="Xo00-_aZ9k3"`, `name="letter" value="Xo02-_aZ9k3"`, `name="do" value="purge"`,
		"rowrelay deadletter purge orders Xo00-_aZ9k3 Xo02-_aZ9k3<")
	if strings.Contains(two.text, "Xo01") || strings.Count(two.text, `value="Xo00-_aZ9k3"`) != 1 {
		t.Errorf("another, or one twice: %s", two.text)
	}
	d.wants("all", d.send("GET", "/status?do=replay&poller=orders&letter=*", ""), http.StatusOK,
		"Replay these 3 dead letters of orders?", `value="Xo00-_aZ9k3"`, `value="Xo01-_aZ9k3"`, `value="Xo02-_aZ9k3"`)
	d.wants("one that is gone beside one that is there",
		d.send("GET", "/status?do=purge&poller=orders&letter=Xo00-_aZ9k3&letter=gone", ""), http.StatusNotFound)

	filtered := d.send("GET", "/status?poller=orders&like=4712", "")
	d.wants("filtered", filtered, http.StatusOK, "Xo01-_aZ9k3", "1 of 3", `name="like" value="4712"`)
	if strings.Contains(filtered.text, "Xo00") {
		t.Error("what the filter leaves out is listed")
	}
	d.wants("nothing is like that", d.send("GET", "/status?poller=orders&like=zz", ""), http.StatusOK,
		"None of those that are read has <code>zz</code>")
	d.wants("all of the filtered", d.send("GET", "/status?do=purge&poller=orders&like=4712&letter=*", ""), http.StatusOK,
		"Purge this dead letter of orders?", `name="letter" value="Xo01-_aZ9k3"`)
	if asked := d.shop.done(); len(asked) > 0 {
		t.Fatalf("looking did %v", asked)
	}

	d.cookies = nil // a script
	form := "do=purge&poller=orders&letter=Xo00-_aZ9k3&letter=Xo02-_aZ9k3"
	d.wants("not confirmed", d.send("POST", "/status/actions", form, "Accept", "*/*", "Authorization", "Bearer "+token),
		http.StatusBadRequest, "yes=true")
	many := form
	for i := range maxListed {
		many += fmt.Sprintf("&letter=%d", i)
	}
	d.wants("too many", d.send("POST", "/status/actions", many+"&yes=true", "Accept", "*/*", "Authorization",
		"Bearer "+token), http.StatusBadRequest, "more than 100 letters")
	d.wants("confirmed", d.send("POST", "/status/actions", form+"&yes=true", "Accept", "*/*", "Authorization",
		"Bearer "+token), http.StatusOK, "did purge of orders")
	if asked := fmt.Sprint(d.shop.done()); asked != "[purge|orders||Xo00-_aZ9k3,Xo02-_aZ9k3|status page, 192.0.2.1]" {
		t.Error(asked)
	}
}

// TestRowOfADeadLetter: who has logged in sees the row behind its id. Nobody else has a way to it, and what a row holds
// is text.
func TestRowOfADeadLetter(t *testing.T) {
	const address = "/status?do=show&poller=orders&letter=Xo00-_aZ9k3"
	open, d := newDesk(t, ""), newDesk(t, token)
	open.wants("nobody can log in", open.send("GET", address, "", "Host", "localhost"), http.StatusForbidden)
	d.wants("nobody has", d.send("GET", address, "", "Accept", "*/*"), http.StatusUnauthorized)
	d.wants("a script", d.send("GET", address, "", "Accept", "*/*", "Authorization", "Bearer "+token),
		http.StatusForbidden)
	if asked := append(open.shop.done(), d.shop.done()...); len(asked) > 0 {
		t.Fatalf("a row was read: %v", asked)
	}
	d.logIn()
	d.shop.row = []byte(`{"id":4711,"note":"<b>` + strings.Repeat("ü", maxRow) + `"}`)
	d.wants("the list", d.send("GET", "/status", ""), http.StatusOK, `do=show&amp;letter=Xo00-_aZ9k3&amp;poller=orders`)
	page := d.send("GET", address, "")
	d.wants("the row", page, http.StatusOK, "Dead letter of orders", "&#34;id&#34;: 4711,\n",
		"&#34;note&#34;: &#34;&lt;b&gt;ü", "It is longer than this", "article is not known",
		"do=replay", "rowrelay deadletter show orders Xo00-_aZ9k3<")
	if len(page.text) > 2*maxRow {
		t.Errorf("%d bytes", len(page.text))
	}
	if asked := fmt.Sprint(d.shop.done()); asked != "[row|orders||Xo00-_aZ9k3|status page, 192.0.2.1]" {
		t.Error(asked)
	}
	d.shop.row = nil
	d.wants("without a row", d.send("GET", address, ""), http.StatusOK, "not in the record")
	d.wants("another", d.send("GET", address+"x", ""), http.StatusNotFound, "no such dead letter")
	d.wants("another poller", d.send("GET", "/status?do=show&poller=x&letter=Xo00-_aZ9k3", ""), http.StatusNotFound)
	d.shop.fails = &status.Refusal{Err: errRefused, Missing: true}
	d.wants("gone meanwhile", d.send("GET", address, ""), http.StatusNotFound, errRefused.Error())
}
