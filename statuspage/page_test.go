package statuspage

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

func get(t *testing.T, h http.Handler, target string, header ...string) *reply {
	t.Helper()
	return (&desk{t: t, handler: h, address: "127.0.0.1:5"}).send("GET", target, "", header...)
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	d := newDesk(t, token)
	s := openShop()
	view, actions := View(Config{Reader: s, Operator: s}), Actions(Config{Reader: s, Operator: s}, EasyAuth(""))
	answers := map[string]*reply{
		"login": d.send("GET", "/status", ""), "wrong login": d.send("POST", "/status/login", "token=no"),
		"script":     d.send("GET", "/status.json", "", "Accept", "*/*"),
		"cross-site": d.send("POST", "/status/actions", "x=1", "Sec-Fetch-Site", "cross-site"),
		"nothing":    d.send("GET", "/status/nothing", ""),
		"hosted":     get(t, view, "/api/status"), "hosted JSON": get(t, view, "/api/status.json"),
		"hosted actions": get(t, actions, "/api/status/actions"),
	}
	d.logIn()
	answers["page"], answers["confirm"] = d.send("GET", "/status", ""), d.send("GET", "/status?do=pause&poller=orders", "")
	for name, r := range answers {
		csp := r.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'",
			"script-src 'sha256-", "style-src 'sha256-"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: the policy lacks %s: %s", name, part, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Errorf("%s: %s", name, csp)
		}
		for header, want := range map[string]string{
			"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Referrer-Policy": map[bool]string{true: "no-referrer",
				false: "same-origin"}[strings.HasPrefix(name, "hosted")],
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := r.Header.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
	}
	if got := answers["hosted JSON"].Header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Error(got)
	}
}

var (
	element  = regexp.MustCompile(`<([a-z0-9]+)`)
	handlers = regexp.MustCompile(`(?i)<[^>]*\s(on[a-z]+|style|src|srcset)\s*=`)
	values   = regexp.MustCompile(`"[^"]*"`)
)

// TestHostileTextsStayTexts: whatever stands in a report, the page has the same elements as with harmless texts.
func TestHostileTextsStayTexts(t *testing.T) {
	render := func(text string) string {
		s := openShop()
		r := &s.report
		r.App, r.Version, r.Instance = text, text, text
		r.Faults = []status.Problem{{Text: text, Mend: text, Event: text}}
		at := r.At
		for i := range r.Outputs {
			o := &r.Outputs[i]
			o.Poller, o.Output, o.Source, o.Kind, o.Says, o.Position = text, text, text, text, text, text
			o.HeldBack, o.Pause = &status.HeldBack{By: text}, &status.Pause{By: text, At: &at}
			o.Lease, o.Owners = &status.Lease{Holder: text, Held: true}, []status.Lease{{Holder: text}}
			o.LastError, o.Problems = &status.Problem{Event: text, Text: text, Mend: text},
				[]status.Problem{{Text: text, Mend: text}}
			o.Letters = []status.Letter{{ID: text, Key: text, Reason: text}}
			o.Entries = []status.Letter{{ID: text, Key: text, Reason: text, Blocked: true, Waiting: 3}}
			o.DeadLetterQueue, o.Backfill, o.Late = text, text, &status.Late{Mode: text, Frontier: text, Remembered: 3}
			if i == 0 {
				o.Health = status.Health(text)
			}
		}
		query := url.Values{"do": {"replay"}, "poller": {text}, "output": {text}, "letter": {text}, "code": {text}}.Encode()
		view := View(Config{Reader: s, Operator: s})
		return get(t, view, "/api/status?code="+url.QueryEscape(text)).text + get(t, view, "/api/status?"+query).text
	}
	tame, wild := render("harmless"), render(hostile)
	if strings.Contains(wild, hostile) || strings.Contains(wild, "<script>alert") || strings.Contains(wild, "<img") {
		t.Error("a text got into the page as it was")
	}
	if !strings.Contains(html.UnescapeString(wild), hostile) {
		t.Error("the text is not shown at all")
	}
	if a, b := strings.Join(element.FindAllString(tame, -1), ""),
		strings.Join(element.FindAllString(wild, -1), ""); a != b {
		t.Errorf("the elements differ:\n%s\n%s", a, b)
	}
	if found := handlers.FindString(values.ReplaceAllString(wild, `""`)); found != "" {
		t.Errorf("an inline handler, style or foreign source: %s", found)
	}
	for _, link := range regexp.MustCompile(`(?:href|action)="([^"]*)"`).FindAllStringSubmatch(wild, -1) {
		if strings.HasPrefix(link[1], status.RunbookPage) || link[1] == status.GlossaryPage {
			continue
		}
		if !regexp.MustCompile(`^status(\.json|/actions|/login|/logout)?(\?[A-Za-z0-9%&;=+._~-]*)?$`).MatchString(html.UnescapeString(link[1])) {
			t.Errorf("a link leads elsewhere: %s", link[1])
		}
	}
}

func TestTheJSONIsTheReport(t *testing.T) {
	s := openShop()
	s.report.Outputs[0].Says = hostile
	body := get(t, View(Config{Reader: s}), "/api/status.json").text
	if strings.Contains(body, "<") {
		t.Error("angle brackets are not escaped")
	}
	var got status.Report
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.App != "shop" || len(got.Outputs) != 6 || got.Outputs[0].Says != hostile || !got.At.Equal(s.report.At) ||
		got.Outputs[1].Token != 118 {
		t.Errorf("%+v", got)
	}
}

func TestTheWorstComesFirst(t *testing.T) {
	s := openShop()
	body := get(t, View(Config{Reader: s}), "/api/status").text
	last := 0
	for _, want := range []string{`card failing`, `card blocked`, `card paused`, `card parked`, `card healthy`,
		`card new`} {
		at := strings.Index(body, want)
		if at < last {
			t.Errorf("%s stands at %d, before what is worse", want, at)
		}
		last = at
	}
	for _, want := range []string{
		"<title>1 failing · shop</title>", "handler_failed", "What to do", "session 58 of web@10.0.0.8", "ann@desk-7",
		"held by <b>web-2</b>", "8 units",
		"1\u202f204", "1.4 s", "212 / s", `{&#34;id&#34;:4711}`, "due now", "in 40 s", "Counted to 10\u202f000",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestConfirmationSaysWhatWillHappen(t *testing.T) {
	d := newDesk(t, token)
	d.logIn()
	for query, want := range map[string][]string{
		"do=pause&poller=orders": {"Pause orders?", "before its next batch",
			"rowrelay state pause orders<", `name="poller" value="orders"`},
		"do=resume&poller=orders&output=audit": {"Resume orders · audit?",
			"rowrelay state resume orders --output audit"},
		"do=pause&poller=events": {"Pause events?", "PENDING",
			"rowrelay outbox pause events<"},
		"do=replay&poller=orders&letter=Xo01-_aZ9k3": {"Replay this dead letter of orders?",
			"reads the row again", "422 Unprocessable", "rowrelay deadletter replay orders Xo01-_aZ9k3",
			`name="letter" value="Xo01-_aZ9k3"`},
		"do=pause&poller=orders&code=" + url.QueryEscape(hostile): {"Pause orders?"},
	} {
		d.wants(query, d.send("GET", "/status?"+query, ""), http.StatusOK,
			append(want, `name="csrf"`, `method="post"`, "Cancel")...)
	}
	for query, code := range map[string]int{
		"do=pause": http.StatusBadRequest, "do=replay&poller=orders": http.StatusBadRequest,
		"do=drop&poller=orders":  http.StatusBadRequest,
		"do=pause&poller=nobody": http.StatusNotFound, "do=replay&poller=orders&letter=gone": http.StatusNotFound,
		"do=": http.StatusBadRequest,
	} {
		d.wants(query, d.send("GET", "/status?"+query, ""), code, "Not done")
	}
	if asked := d.shop.done(); len(asked) > 0 {
		t.Errorf("looking did %v", asked)
	}
}

// TestWhatTheCommandShowsThePageShows: a queue of dead letters, a backfill, late commits, and parked events that wait
// for an operator.
func TestWhatTheCommandShowsThePageShows(t *testing.T) {
	d := newDesk(t, token)
	d.logIn()
	o := &d.shop.report.Outputs[1]
	o.DeadLetters, o.Letters, o.DeadLetterQueue = 0, nil, "orders-dead"
	o.Backfill, o.Late = "from 4 to 900, at 17", &status.Late{Mode: "overlap", Frontier: "int 98121", Remembered: 6}
	o.Apart = []status.Apart{{OrderKey: []byte(`"busy"`), At: "int 17"}}
	o.Entries[0].Blocked, o.Entries[0].Waiting, o.Entries[0].Next = true, 4, nil
	page := d.send("GET", "/status", "")
	d.wants("page", page, http.StatusOK, "Dead letters here</dt><dd>0<",
		"the queue <code>orders-dead</code>: others are there, and are not counted", "from 4 to 900, at 17",
		"overlap; delivered as far as <code>int 98121</code>; 6 rows remembered",
		"order key <code>&#34;busy&#34;</code>, which has a backlog; delivered as far as <code>int 17</code>",
		"waits for an operator", "4 behind it",
		`href="status?do=replay&amp;letter=p1&amp;poller=orders"`)
	if strings.Contains(page.text, "letter=p2") {
		t.Error("an event that waits for its next attempt can be replayed")
	}
	d.wants("confirm", d.send("GET", "/status?do=replay&poller=orders&letter=p1", ""), http.StatusOK,
		"Replay this parked event of orders?", "rowrelay deadletter replay orders p1",
		"409 Conflict", "Parked because", `name="letter" value="p1"`)
	d.wants("not blocked", d.send("GET", "/status?do=replay&poller=orders&letter=p2", ""), http.StatusNotFound)
}

// TestWhatIsNotListedIsSaid: how many there are, which these are, and which command has all of them.
func TestWhatIsNotListedIsSaid(t *testing.T) {
	d := newDesk(t, token)
	d.logIn()
	for i := range d.shop.report.Outputs {
		o := &d.shop.report.Outputs[i]
		o.Parked, o.DeadLetters = 1300, 4500
		o.Letters = []status.Letter{{ID: "a"}, {ID: "b"}}
		o.Entries = o.Letters
	}
	page := d.send("GET", "/status", "")
	d.wants("page", page, http.StatusOK, ">2 of 4\u202f500<", ">2 of 1\u202f300<", ">oldest 2 of 4\u202f500<",
		">oldest 2 of 1\u202f300<",
		"<code>rowrelay deadletter list orders</code>", "<code>rowrelay deadletter list orders --output audit</code>",
		"<code>rowrelay state show orders --output audit --json</code>",
		"<code>rowrelay outbox list events --state dead --limit 0</code>",
		"<code>rowrelay outbox list events --state failed --limit 0</code>")
	if strings.Contains(page.text, "newest") {
		t.Error("the page says that these are the newest, which it cannot know")
	}
	d.wants("an id that is not listed", d.send("GET", "/status?do=replay&poller=orders&letter=zz", ""),
		http.StatusNotFound, "rowrelay deadletter list")
	for i := range d.shop.report.Outputs {
		o := &d.shop.report.Outputs[i]
		o.Parked, o.DeadLetters = 2, 2
	}
	if all := d.send("GET", "/status", "").text; strings.Contains(all, " of 2<") || strings.Contains(all, "All of them") {
		t.Error("the page says that some are not listed")
	}
}

func TestUnderTheHost(t *testing.T) {
	s := openShop()
	cfg := Config{Reader: s, Operator: s}
	d := &desk{t: t, shop: s, handler: View(cfg), address: "127.0.0.1:5"}
	d.wants("links carry the function key", d.send("GET", "/api/status?code=k+1", ""), http.StatusOK,
		`href="status?code=k+1&amp;do=pause&amp;poller=orders"`, `href="status.json?code=k+1"`)
	d.wants("the admin key is asked for", d.send("GET", "/api/status?do=pause&poller=orders", ""), http.StatusOK,
		`type="password"`, "<noscript>", "rowrelay state pause orders")
	if body := d.send("GET", "/api/status?do=pause&poller=orders", "").text; strings.Contains(body, "<form method") ||
		regexp.MustCompile(`type="password"[^>]*name=`).MatchString(body) {
		t.Error("without scripts the form would send the key")
	}
	d.wants("POST", d.send("POST", "/api/status", "x=1"), http.StatusMethodNotAllowed)

	d.handler = Actions(cfg, EasyAuth("true"))
	form := "do=pause&poller=orders&yes=true"
	d.wants("a key in the address", d.send("POST", "/api/status/actions?code=master", form), http.StatusBadRequest,
		"never in the address")
	d.wants("cross-site", d.send("POST", "/api/status/actions", form, "Sec-Fetch-Site", "cross-site"),
		http.StatusForbidden)
	d.wants("text", d.send("POST", "/api/status/actions", form, "Content-Type", "text/plain"),
		http.StatusUnsupportedMediaType)
	d.wants("GET", d.send("GET", "/api/status/actions?"+form, ""), http.StatusMethodNotAllowed)
	if asked := s.done(); len(asked) > 0 {
		t.Fatalf("done: %v", asked)
	}
	d.wants("right", d.send("POST", "/api/status/actions", form, "X-Ms-Client-Principal-Name",
		"ann@example.com\n\x1b[31m"), http.StatusOK, `{"done":"did pause of orders"}`)
	if asked := s.done(); len(asked) != 1 || asked[0] != "pause|orders||status page, ann@example.com [31m" {
		t.Errorf("%q", asked)
	}
}

func TestSpansAndNumbers(t *testing.T) {
	for s, want := range map[float64]string{-1: "0 s", 0: "0 s", 0.02: "20 ms", 1.44: "1.4 s", 59.6: "1 min", 60: "1 min",
		94: "1 min 34 s", 3600: "1 h", 90061: "1 d 1 h", 1e300: "11574074 d 1 h"} {
		if got := span(s); got != want {
			t.Errorf("span(%v) = %q, want %q", s, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-time.Hour: "just now", 3 * time.Second: "3 s ago",
		90 * time.Second: "1 min ago", 119 * time.Minute: "119 min ago", 26 * time.Hour: "26 h ago",
		72 * time.Hour: "3 d ago"} {
		if got := ago(time.Unix(0, 0), time.Unix(0, 0).Add(d)); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1\u202f000", -1234567: "−1\u202f234\u202f567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q", n, got)
		}
	}
	if got := command(&request{Do: doReplay, Poller: "events", Letters: []string{"it's; rm -rf /"}},
		"outbox"); got != `rowrelay outbox requeue events --id 'it'\''s; rm -rf /'` {
		t.Error(got)
	}
	if got := asker(strings.Repeat("ä", 300)); len(got) > 200 || !strings.HasSuffix(got, "ä…") {
		t.Error(got)
	}
}
