package statuspage

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

const token = "correct horse battery staple"

// desk is a standalone page with the token, and a browser's cookies.
type desk struct {
	t       *testing.T
	shop    *shop
	guard   *Guard
	handler http.Handler
	cookies []*http.Cookie
	address string
	log     bytes.Buffer
}

func newDesk(t *testing.T, token string) *desk {
	s := openShop()
	d := &desk{t: t, shop: s, address: "192.0.2.1:999"}
	log := slog.New(slog.NewJSONHandler(&d.log, nil))
	d.guard = NewGuard(token, log)
	d.handler = Standalone(Config{Reader: s, Operator: s, Token: token, Log: log}, d.guard)
	return d
}

// send sends a request as a browser does; header has pairs.
func (d *desk) send(method, target, form string, header ...string) *reply {
	r := httptest.NewRequestWithContext(d.t.Context(), method, target, strings.NewReader(form))
	r.RemoteAddr = d.address
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	for _, c := range d.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	var cookies []*http.Cookie
	if line := w.Header().Get("Set-Cookie"); line != "" {
		cookie, err := http.ParseSetCookie(line)
		if err != nil {
			d.t.Fatal(err)
		}
		cookies = append(cookies, cookie)
	}
	return &reply{w.Code, w.Header(), w.Body.String(), cookies}
}

// reply is a response, read.
type reply struct {
	StatusCode int
	Header     http.Header
	text       string
	cookies    []*http.Cookie
}

func (d *desk) logIn() {
	d.t.Helper()
	r := d.send("POST", "/status/login", url.Values{"token": {token}}.Encode(), "Sec-Fetch-Site", "same-origin")
	if r.StatusCode != http.StatusSeeOther || len(r.cookies) != 1 {
		d.t.Fatalf("the login answers %d: %s", r.StatusCode, r.text)
	}
	d.cookies = r.cookies
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (d *desk) csrf() string {
	d.t.Helper()
	found := csrfField.FindStringSubmatch(d.send("GET", "/status?do=pause&poller=orders", "").text)
	if found == nil {
		d.t.Fatal("the form has no token of the session")
	}
	return found[1]
}

func pause(csrf string) string {
	return url.Values{"do": {"pause"}, "poller": {"orders"}, "yes": {"true"}, "csrf": {csrf}}.Encode()
}

func (d *desk) wants(name string, r *reply, code int, parts ...string) {
	d.t.Helper()
	body := r.text
	if r.StatusCode != code {
		d.t.Errorf("%s: %d, want %d: %.300s", name, r.StatusCode, code, body)
	}
	for _, part := range parts {
		if !strings.Contains(body, part) {
			d.t.Errorf("%s: the answer lacks %q: %.600s", name, part, body)
		}
	}
}

func TestWithoutATokenOnlyThisMachineLooksAndNobodyActs(t *testing.T) {
	d := newDesk(t, "")
	for _, host := range []string{"localhost", "localhost:7878", "127.0.0.1:7878", "[::1]:7878", "[::1]", "LOCALHOST.",
		"shop.localhost:1", "127.8.8.8"} {
		d.wants(host, d.send("GET", "/status", "", "Host", host), http.StatusOK, "orders", "status__token")
	}
	for _, host := range []string{"evil.example", "evil.example:7878", "127.0.0.1.evil.example", "localhost.evil.example",
		"10.0.0.1", "0.0.0.0", ""} {
		for _, path := range []string{"/status", "/status.json"} {
			d.wants(host, d.send("GET", path, "", "Host", host), http.StatusForbidden, "status__token")
		}
	}
	d.wants("pause", d.send("POST", "/status/actions", pause(""), "Host", "localhost"), http.StatusForbidden,
		"set status__token")
	d.wants("pause with an empty bearer",
		d.send("POST", "/status/actions", pause(""), "Host", "localhost", "Authorization", "Bearer "), http.StatusForbidden)
	d.wants("confirm", d.send("GET", "/status?do=pause&poller=orders", "", "Host", "localhost"), http.StatusForbidden)
	if body := d.send("GET", "/status", "", "Host", "localhost").text; strings.Contains(body, ">Pause<") {
		t.Error("buttons are shown that do nothing")
	}
	if asked := d.shop.done(); len(asked) > 0 {
		t.Errorf("done: %v", asked)
	}
}

func TestWithATokenABrowserLogsInAndAScriptSendsIt(t *testing.T) {
	d := newDesk(t, token)
	r := d.send("GET", "/status", "")
	d.wants("no login", r, http.StatusUnauthorized, `type="password"`)
	for _, path := range []string{"/status", "/status.json"} {
		r = d.send("GET", path, "", "Accept", "*/*")
		d.wants("script", r, http.StatusUnauthorized, "Authorization: Bearer")
		d.wants("wrong", d.send("GET", path, "", "Authorization", "Bearer no"), http.StatusUnauthorized)
		d.wants("right", d.send("GET", path, "", "Authorization", "Bearer "+token), http.StatusOK, "orders")
		d.wants("right", d.send("GET", path, "", "Authorization", "bearer "+token), http.StatusOK, "orders")
	}
	d.wants("wrong login", d.send("POST", "/status/login", "token=no"), http.StatusUnauthorized, "not the token")
	d.wants("empty login", d.send("POST", "/status/login", "token="), http.StatusUnauthorized)
	d.logIn()
	d.wants("logged in", d.send("GET", "/status", ""), http.StatusOK, "orders", "Log out")
	d.wants("logged in", d.send("GET", "/status.json", ""), http.StatusOK, `"app":"shop"`)
	d.wants("log out", d.send("POST", "/status/logout", "csrf="+url.QueryEscape(d.csrf())), http.StatusSeeOther)
	d.wants("logged out, cookie kept", d.send("GET", "/status", ""), http.StatusUnauthorized)
}

func TestTheCookieIsForThisHostOnly(t *testing.T) {
	for proto, secure := range map[string]bool{"": false, "http": false, "https": true} {
		d := newDesk(t, token)
		r := d.send("POST", "/status/login", url.Values{"token": {token}}.Encode(), "X-Forwarded-Proto", proto)
		c := r.cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != secure || c.Domain != "" ||
			strings.Contains(c.Value, token) {
			t.Errorf("%q: %+v", proto, c)
		}
	}
}

func TestASessionEndsAndCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, token)
		d.logIn()
		good := d.cookies[0].Value
		parts := strings.Split(good, ".")
		for _, forged := range []string{
			"", "x", good + "x", "x" + good, parts[0] + "." + parts[1] + ".",
			strings.ToLower(parts[0]) + "." + parts[1] + "." + parts[2],
			parts[0] + ".7fffffffffffffff." + parts[2], parts[0] + ".." + parts[2], "..",
		} {
			d.cookies[0].Value = forged
			d.wants("forged "+forged, d.send("GET", "/status", ""), http.StatusUnauthorized)
		}
		d.cookies[0].Value = good
		other := newDesk(t, "another token")
		other.cookies = d.cookies
		other.wants("another token's", other.send("GET", "/status", ""), http.StatusUnauthorized)
		twin := newDesk(t, token) // a second instance, or the same after a restart
		twin.cookies = d.cookies
		twin.wants("a twin", twin.send("GET", "/status", ""), http.StatusOK)
		time.Sleep(sessionLife - 2*time.Second)
		d.wants("before its end", d.send("GET", "/status", ""), http.StatusOK)
		time.Sleep(3 * time.Second)
		d.wants("after its end", d.send("GET", "/status", ""), http.StatusUnauthorized)
		d.wants("an action after its end", d.send("POST", "/status/actions", pause("x")), http.StatusUnauthorized,
			"Nothing was done")
	})
}

func TestGuessingIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, token)
		d.logIn()
		d.wants("no token is no guess", d.send("GET", "/status", "", "Accept", "*/*"), http.StatusOK)
		session := d.cookies
		d.cookies = nil
		for range freeAttempts {
			d.wants("wrong", d.send("GET", "/status.json", "", "Authorization", "Bearer no"), http.StatusUnauthorized)
		}
		guessed := 0
		for range 2000 { // ten minutes, three and a bit a second
			r := d.send("POST", "/status/login", "token=no")
			if r.StatusCode == http.StatusUnauthorized {
				guessed++
			} else if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" {
				t.Fatalf("%d %v", r.StatusCode, r.Header)
			}
			time.Sleep(300 * time.Millisecond)
		}
		if guessed > 16 {
			t.Errorf("%d guesses in ten minutes", guessed)
		}
		d.address = "192.0.2.2:1"
		d.wants("another address", d.send("GET", "/status.json", "", "Authorization", "Bearer no"), http.StatusUnauthorized)
		d.address, d.cookies = "192.0.2.1:5", session
		d.wants("a session", d.send("GET", "/status", ""), http.StatusOK)
		d.cookies = nil
		time.Sleep(forgetAfter + time.Second)
		for range freeAttempts {
			d.wants("forgotten", d.send("GET", "/status.json", "", "Authorization", "Bearer no"), http.StatusUnauthorized)
		}
		for i := range 3 * mostOrigins {
			d.address = fmt.Sprintf("[2001:db8:0:%x::1]:1", i)
			_ = d.send("GET", "/status.json", "", "Authorization", "Bearer no")
		}
		if n := len(d.guard.wrong); n > mostOrigins {
			t.Errorf("%d origins are remembered", n)
		}
	})
}

// TestAGuesserLocksNobodyOut: behind a proxy or a tunnel everybody comes from one address.
func TestAGuesserLocksNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, token)
		guessed := 0
		for i := range 200 { // a scraper with an old token; now and then one with the right one, and somebody who logs in
			if d.send("GET", "/status.json", "", "Authorization", "Bearer old").StatusCode == http.StatusUnauthorized {
				guessed++
			}
			if i%10 == 9 {
				d.wants("the right token", d.send("GET", "/status.json", "", "Authorization", "Bearer "+token), http.StatusOK)
				d.wants("a login", d.send("POST", "/status/login", url.Values{"token": {token}}.Encode()), http.StatusSeeOther)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if guessed > freeAttempts+5 {
			t.Errorf("%d guesses in 20 seconds: the right token of somebody else forgives them", guessed)
		}
	})
}

// TestWrongTokensAreCountedByOrigin: one machine has all addresses of its /64.
func TestWrongTokensAreCountedByOrigin(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:5": "192.0.2.1", "[::ffff:192.0.2.1]:5": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:5": "2001:db8:1:2::/64",
		"[2001:db8:1:2::9]:7": "2001:db8:1:2::/64",
		"[2001:db8:1:3::9]:7": "2001:db8:1:3::/64", "[fe80::1%eth0]:7": "fe80::/64", "@": "@",
	} {
		if got := origin(&http.Request{RemoteAddr: remote}); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

func TestAnActionNeedsTheFormOfItsOwnLogin(t *testing.T) {
	d := newDesk(t, token)
	d.logIn()
	csrf := d.csrf()
	other := newDesk(t, token)
	other.logIn()
	for name, c := range map[string]struct {
		r    *reply
		code int
	}{
		"no token":        {d.send("POST", "/status/actions", pause("")), http.StatusForbidden},
		"another login's": {d.send("POST", "/status/actions", pause(other.csrf())), http.StatusForbidden},
		"cross-site": {d.send("POST", "/status/actions", pause(csrf), "Sec-Fetch-Site", "cross-site"),
			http.StatusForbidden},
		"same-site": {d.send("POST", "/status/actions", pause(csrf), "Sec-Fetch-Site", "same-site"),
			http.StatusForbidden},
		"foreign origin": {d.send("POST", "/status/actions", pause(csrf), "Origin", "https://evil.example"),
			http.StatusForbidden},
		"null origin": {d.send("POST", "/status/actions", pause(csrf), "Origin", "null"), http.StatusForbidden},
		"text/plain": {d.send("POST", "/status/actions", pause(csrf), "Content-Type", "text/plain"),
			http.StatusUnsupportedMediaType},
		"JSON": {d.send("POST", "/status/actions", `{"do":"pause"}`, "Content-Type", "application/json"),
			http.StatusUnsupportedMediaType},
		"multipart": {d.send("POST", "/status/actions", pause(csrf), "Content-Type",
			"multipart/form-data; boundary=x"), http.StatusUnsupportedMediaType},
		"no type": {d.send("POST", "/status/actions", pause(csrf), "Content-Type", ""),
			http.StatusUnsupportedMediaType},
		"too large": {d.send("POST", "/status/actions", pause(csrf)+"&x="+strings.Repeat("x", maxForm)),
			http.StatusRequestEntityTooLarge},
		"GET":            {d.send("GET", "/status/actions?"+pause(csrf), ""), http.StatusSeeOther},
		"PUT":            {d.send("PUT", "/status/actions", pause(csrf)), http.StatusMethodNotAllowed},
		"in the address": {d.send("POST", "/status/actions?"+pause(csrf), "x=1"), http.StatusForbidden},
		"not confirmed": {d.send("POST", "/status/actions", strings.Replace(pause(csrf), "yes=true", "yes=", 1)),
			http.StatusBadRequest},
		"no such action": {d.send("POST", "/status/actions", strings.Replace(pause(csrf), "do=pause", "do=drop", 1)),
			http.StatusBadRequest},
		"cross-site login": {d.send("POST", "/status/login", "token=x", "Sec-Fetch-Site", "cross-site"),
			http.StatusForbidden},
		"login by GET": {d.send("GET", "/status/login?token=x", ""), http.StatusSeeOther},
		"cross-site log out": {d.send("POST", "/status/logout", "csrf=x", "Sec-Fetch-Site", "cross-site"),
			http.StatusForbidden},
	} {
		if c.r.StatusCode != c.code {
			t.Errorf("%s: %d, want %d", name, c.r.StatusCode, c.code)
		}
	}
	if asked := d.shop.done(); len(asked) > 0 {
		t.Fatalf("done: %v", asked)
	}
	d.wants("the form", d.send("POST", "/status/actions", pause(csrf), "Sec-Fetch-Site", "same-origin"), http.StatusOK,
		"did pause of orders")
	if asked := fmt.Sprint(d.shop.done()); asked != "[pause|orders||status page, 192.0.2.1]" {
		t.Error(asked)
	}
}

func TestAScriptActsWithTheToken(t *testing.T) {
	d := newDesk(t, token)
	form := url.Values{"do": {"replay"}, "poller": {"orders"}, "output": {"audit"}, "letter": {"a'b"},
		"yes": {"true"}}.Encode()
	d.wants("without", d.send("POST", "/status/actions", form, "Accept", "*/*"), http.StatusUnauthorized)
	d.wants("wrong", d.send("POST", "/status/actions", form, "Accept", "*/*", "Authorization", "Bearer no"),
		http.StatusUnauthorized)
	if asked := d.shop.done(); len(asked) > 0 {
		t.Fatalf("done: %v", asked)
	}
	r := d.send("POST", "/status/actions", form, "Accept", "*/*", "Authorization", "Bearer "+token)
	d.wants("right", r, http.StatusOK, `{"done":"did replay of orders"}`)
	d.shop.fails = errRefused
	r = d.send("POST", "/status/actions", form, "Accept", "*/*", "Authorization", "Bearer "+token)
	d.wants("failed", r, http.StatusServiceUnavailable, `{"error":"orders could not be paused`)
	if asked := d.shop.done(); asked[0] != "replay|orders|audit|a'b|status page, 192.0.2.1" {
		t.Error(asked)
	}
}

func TestMetricsKeepTheirGuard(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1") })
	for _, test := range []struct {
		token, host string
		codes       [3]int
	}{{"", "localhost:7878", [3]int{200, 200, 200}}, {"", "rebound.example", [3]int{403, 403, 403}},
		{token, "scraped.example", [3]int{401, 401, 200}}} {
		d := &desk{t: t, handler: NewGuard(test.token, slog.New(slog.DiscardHandler)).Bearer(metrics), address: "192.0.2.1:9"}
		for i, header := range []string{"", "Bearer wrong", "Bearer " + test.token} {
			if r := d.send("GET", "/metrics", "", "Authorization", header, "Host", test.host); r.StatusCode != test.codes[i] {
				t.Errorf("token %q, host %s, %q: %d", test.token, test.host, header, r.StatusCode)
			}
		}
	}
}

func TestEasyAuthIsBelievedOnlyWhereItIsOn(t *testing.T) {
	for enabled, want := range map[string]string{"True": "Ann (7)", "true": "Ann (7)", "": "", "False": "", "1": "",
		"yes": ""} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.Header.Set("X-MS-CLIENT-PRINCIPAL-NAME", "Ann")
		r.Header.Set("X-MS-CLIENT-PRINCIPAL-ID", "7")
		if got := EasyAuth(enabled)(r); got != want {
			t.Errorf("%q: %q, want %q", enabled, got, want)
		}
	}
}

var _ status.Operator = (*shop)(nil)
