package statuspage

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// lines are the log's, without their times, since they were asked for last.
func (d *desk) lines() (lines []map[string]any) {
	d.t.Helper()
	for text := range strings.Lines(d.log.String()) {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			d.t.Fatalf("%v: %s", err, text)
		}
		delete(line, "time")
		lines = append(lines, line)
	}
	d.log.Reset()
	return lines
}

// TestWhatIsRefusedIsLogged: one line for an origin and a minute, and never what was sent.
func TestWhatIsRefusedIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const guess = "planted guess 4711"
		d := newDesk(t, token)
		wrong := func(n int) {
			for i := range n {
				if i%2 == 0 {
					d.send("GET", "/status.json", "", "Authorization", "Bearer "+guess)
				} else {
					d.send("POST", "/status/login", url.Values{"token": {guess}}.Encode())
				}
			}
		}
		wants := func(what string, lines []map[string]any, why, from string, more int) {
			t.Helper()
			if len(lines) != 1 || lines[0]["level"] != "WARN" || lines[0]["why"] != why || lines[0]["from"] != from ||
				lines[0]["more_since_the_last_line"] != float64(more) {
				t.Errorf("%s: %v", what, lines)
			}
			if strings.Contains(fmt.Sprint(lines), guess) {
				t.Errorf("%s: the guess is in the log: %v", what, lines)
			}
		}
		wrong(40)
		wants("wrong tokens", d.lines(), "a wrong token", "192.0.2.1", 0)
		d.address = "192.0.2.2:7"
		wrong(1)
		wants("of another", d.lines(), "a wrong token", "192.0.2.2", 0)
		d.address = "192.0.2.1:8"
		time.Sleep(time.Minute)
		wrong(1)
		wants("a minute later", d.lines(), "a wrong token", "192.0.2.1", 39)
		time.Sleep(time.Minute)
		d.send("POST", "/status/login", "token=x", "Sec-Fetch-Site", "cross-site")
		wants("another site", d.lines(), "a browser says that it comes from another site", "192.0.2.1", 0)
		time.Sleep(time.Minute)
		d.logIn()
		if lines := d.lines(); len(lines) != 1 || lines[0]["level"] != "INFO" || lines[0]["from"] != "192.0.2.1" {
			t.Errorf("a login: %v", lines)
		}
		d.send("POST", "/status/actions", pause("of another login"))
		wants("a foreign form", d.lines(), "a form that is not from the login that it came with", "192.0.2.1", 0)
		if d.send("GET", "/status", ""); len(d.lines()) > 0 {
			t.Error("looking is logged")
		}
		d.cookies = nil
		if d.send("GET", "/status", ""); len(d.lines()) > 0 {
			t.Error("who has no token yet is logged")
		}
		for i := range 2 * mostOrigins {
			d.address = fmt.Sprintf("[2001:db8:0:%x::1]:1", i)
			wrong(1)
		}
		if n := len(d.guard.refused.told); n > mostOrigins {
			t.Errorf("%d origins are remembered", n)
		}
	})
}

// TestANameOfAnotherSiteIsLogged: somebody tries to look through the browser of whoever runs this.
func TestANameOfAnotherSiteIsLogged(t *testing.T) {
	d := newDesk(t, "")
	for range 3 {
		d.send("GET", "/status", "", "Host", "evil.example")
	}
	if lines := d.lines(); len(lines) != 1 ||
		!strings.Contains(fmt.Sprint(lines[0]["why"]), "a name that is not this machine's") ||
		strings.Contains(fmt.Sprint(lines), "evil") {
		t.Errorf("%v", lines)
	}
}

// TestWhatIsNotDone: the answer tells what is not there, what stands against it, and what has failed; the log has each.
func TestWhatIsNotDone(t *testing.T) {
	d := newDesk(t, token)
	form := url.Values{"do": {"pause"}, "poller": {"ord\u202eers\n"}, "yes": {"true"}}.Encode()
	for code, err := range map[int]error{
		http.StatusNotFound: fmt.Errorf("wrapped: %w",
			&status.Refusal{Err: errors.New("there is no such poller"), Missing: true}),
		http.StatusConflict:           &status.Refusal{Err: errors.New("the lease is held")},
		http.StatusServiceUnavailable: errors.New("the store does not answer"),
	} {
		d.shop.fails = err
		r := d.send("POST", "/status/actions", form, "Accept", "*/*", "Authorization", "Bearer "+token)
		d.wants(err.Error(), r, code, `{"error":"`+err.Error()+`"}`)
		lines := d.lines()
		if len(lines) != 1 || lines[0]["level"] != "WARN" || lines[0]["action"] != "pause" ||
			lines[0]["poller"] != "orders" ||
			lines[0]["by"] != "status page, 192.0.2.1" || lines[0]["error"] != err.Error() {
			t.Errorf("%d: %v", code, lines)
		}
	}
	d.shop.fails = nil
	d.wants("done", d.send("POST", "/status/actions", form, "Accept", "*/*", "Authorization", "Bearer "+token),
		http.StatusOK, "did pause")
	if lines := d.lines(); len(lines) > 0 { // the audit is the operator's
		t.Errorf("%v", lines)
	}
}

// TestWhatIsDoneInPart: the answer says both what was done and what was not, to scripts and on the page.
func TestWhatIsDoneInPart(t *testing.T) {
	d := newDesk(t, token)
	d.shop.partly, d.shop.fails = true, &status.Refusal{Err: errors.New("2 of 15 are kept")}
	form := url.Values{"do": {"replay"}, "poller": {"orders"}, "letter": {"a"}, "yes": {"true"}}
	d.wants("a script", d.send("POST", "/status/actions", form.Encode(), "Accept", "*/*", "Authorization",
		"Bearer "+token), http.StatusConflict, `{"done":"did replay of orders","error":"2 of 15 are kept"}`)
	if lines := d.lines(); len(lines) != 1 || lines[0]["done"] != "did replay of orders" ||
		lines[0]["error"] != "2 of 15 are kept" {
		t.Errorf("%v", lines)
	}
	p := newPage("Rowrelay")
	w := httptest.NewRecorder()
	p.finish(w, http.StatusConflict, &done{Said: "did replay of orders", But: "2 of 15 are kept"})
	for _, want := range []string{"<h1>Done in part</h1>", "did replay of orders", "2 of 15 are kept"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestWhoAskedIsOneLineOfWhatIsSeen: nothing in a name turns the direction of the line, or ends it.
func TestWhoAskedIsOneLineOfWhatIsSeen(t *testing.T) {
	for name, want := range map[string]string{
		"ann@example.com": "ann@example.com", "Zoë (7) 王": "Zoë (7) 王", "ann\u202egnp.exe": "anngnp.exe",
		"\u2066ann\u2069": "ann", "a\nb\r\u2028c\x1b[31m\x7f": "a b c[31m",
		"\u200b\u00ad\ufeff": "unknown", "": "unknown", "\xff": "�",
	} {
		if got := asker(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
