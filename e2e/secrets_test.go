package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// planted are the secrets of a test, by where they were planted. Each is long enough to be no accident.
type planted map[string]string

// spellings are what a secret may look like where it leaks: as it is, escaped for a URL, in JSON, in base64.
func spellings(secret string) []string {
	return []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(fmt.Sprintf("%q", secret), `"`),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
}

// assertNone fails when a secret stands in the text.
func (p planted) assertNone(t *testing.T, where, text string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(p)) {
		for _, spelling := range spellings(p[name]) {
			if at := strings.Index(text, spelling); at >= 0 {
				t.Errorf("%s shows the secret of %s: …%s…", where, name, text[max(at-200, 0):min(at+len(spelling)+40, len(text))])
				break
			}
		}
	}
}

// receiver records requests as they came, and answers with what it was sent when it is told to be talkative.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	status   int    // 0: 200
	location string // of a redirect
	only     string // answer so only requests whose body has this in it
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		dump, err := httputil.DumpRequest(req, true)
		if err != nil {
			t.Error(err)
		}
		_, body, _ := strings.Cut(string(dump), "\r\n\r\n")
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests, r.bodies = append(r.requests, req), append(r.bodies, body)
		if r.status == 0 || !strings.Contains(body, r.only) {
			return
		}
		if r.location != "" {
			w.Header().Set("Location", r.location)
		}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(r.status)
		_, _ = fmt.Fprintf(w, "I was sent %s", dump[:min(len(dump), 3000)]) // a sender that is gone sees nothing
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answer(status int, location string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.location, r.only = status, location, ""
}

// refuse answers with a status to requests whose body has this in it, and accepts the others.
func (r *receiver) refuse(status int, only string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.location, r.only = status, "", only
}

// showing are the commands that tell of a poller, by what they are followed by.
func showing(function string) [][]string {
	return [][]string{
		{"run", "--once"}, {"check"}, {"check", "--json"}, {"check", "--production"}, {"check", "--production", "--json"},
		{"state", "show", function}, {"state", "show", function, "--json"},
		{"state", "accept-fingerprint", function, "--yes"}, {"state", "accept-gap", function, "--dry-run"},
		{"state", "export", function},
		{"deadletter", "list", function}, {"deadletter", "list", function, "--json"},
		{"deadletter", "replay", function, "--dry-run"},
		{"backfill", function, "--status"}, {"functions", "--force"}, {"status"}, {"status", "--json"},
	}
}

// showingRequests are those that tell what became of a request, each in one form: the other has the same values.
func showingRequests(function string) [][]string {
	return [][]string{
		{"run", "--once"}, {"state", "show", function, "--json"}, {"state", "export", function},
		{"deadletter", "list", function, "--json"}, {"deadletter", "replay", function, "--dry-run"}, {"status", "--json"},
		{"status"},
	}
}

// everywhere runs the host and commands with the settings, whether they succeed or not, and returns all that anybody
// can see of it, by where.
func everywhere(t *testing.T, s settings, function string, commands [][]string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	root := t.TempDir()
	prepareRoot(t, root, function)
	host := startHost(t, root, s)
	for range 2 {
		r := host.Invoke(t.Context(), function)
		seen["the answers to the host"] += string(r.Body)
	}
	seen["the metrics of serve"] = get(t, host.URL()+"/metrics", "")
	seen["the arguments of serve"] = arguments(t, host.PID())
	host.Close()
	seen["the log of serve"] = transcript(host)
	s = withSchedules(s).with(settings{"status__listen": "127.0.0.1:0"})
	for _, args := range commands {
		out, errs, err := command(t, root, s, args...)
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		seen[strings.Join(args, " ")] = out + errs
	}
	return seen
}

// prepareRoot makes a script root without asking the program, whose settings may be too bad for it.
func prepareRoot(t *testing.T, root, function string) {
	t.Helper()
	host := testfile.Read(t, "../host.json")
	binding := `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"%` +
		strings.ToUpper(function) + `_SCHEDULE%"}]}`
	if err := errors.Join(os.WriteFile(filepath.Join(root, "host.json"), host, 0o600),
		os.Link(programtest.Path(t), filepath.Join(root, "rowrelay")),
		os.Mkdir(filepath.Join(root, function), 0o750),
		os.WriteFile(filepath.Join(root, function, "function.json"), []byte(binding), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, address, authorization string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %v %s", res.StatusCode, res.Header, body)
}

// arguments are what ps shows of a process.
func arguments(t *testing.T, pid int) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "args=", "-p", fmt.Sprint(pid)).Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	if !strings.Contains(string(out), "rowrelay") {
		t.Fatalf("ps shows %q", out)
	}
	return string(out)
}

// TestSecretsStayWhereTheyBelong: with a secret in every place that holds one, things work, then fail in the ways that
// leak most, and nobody sees any of them; receivers see what is meant for them, where it is meant to be.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	s := postgresStall(t, to.URL)
	s.add(1, 40)
	connection := s.settings["AzureWebJobsStorage"]
	secrets := planted{
		"the database password": "plantedDbPass/word#4711", "the user of output__url": "plantedUser4711",
		"the password of output__url": "plantedUrlPass4711",
		"the query of output__url":    "plantedQuery4711", "a header": "plantedHeader4711",
		"an expanded header": "plantedExpansion4711",
		"status__token":      "plantedToken4711", "output__secret": "cGxhbnRlZCBzaWduaW5nIHNlY3JldCA0NzEx",
		"the storage account's key": storageMember(t, connection, "AccountKey"),
	}
	role := strings.ReplaceAll(unique("rr_secret"), "-", "_")
	withRole(t, s, role, secrets["the database password"])
	execute(t, s.db, `GRANT SELECT ON lines TO `+role)
	queue, signature := unique("secrets"), signedQueues(t, connection)
	_, sig, _ := strings.Cut(signature, "sig=")
	sig, _, _ = strings.Cut(sig, "&")
	if secrets["the shared access signature"], _ = url.QueryUnescape(sig); len(sig) < 20 {
		t.Fatal("the signature has no sig")
	}
	readQueue(t, connection, queue).stop() // creates it
	address, err := url.Parse(to.URL)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword(secrets["the user of output__url"], secrets["the password of output__url"])
	address.Path, address.RawQuery = "/hook", "code="+secrets["the query of output__url"]
	full := s.withOwn(settings{
		".SHOP_DB": withUser(t, s.settings["SHOP_DB"], role, secrets["the database password"]),
		".QUEUES":  signature, ".EXPANDED": secrets["an expanded header"], ".status__token": secrets["status__token"],
		".log__level":   "debug",
		"source__where": "version >= 0", // under a condition rows do not tell who wrote them, and have to be remembered
		"output__url":   address.String(), "output__headers__X_Api_Key": secrets["a header"],
		"output__headers__X_More": "Bearer %EXPANDED%",
		"output__secret":          "whsec_" + secrets["output__secret"], "batch_size": "10",
		"outputs__audit__kind": "queue", "outputs__audit__connection": "QUEUES", "outputs__audit__queue": queue,
	})
	all, requests := showing("lines"), showingRequests("lines")
	look := func(what string, commands [][]string) {
		t.Helper()
		for where, text := range everywhere(t, full, "lines", commands) {
			if text == "" && !strings.HasPrefix(where, "the a") && where != "deadletter list lines --json" { // there may be none
				t.Errorf("%s: %s says nothing: this test would not see a leak", what, where)
			}
			secrets.assertNone(t, what+": "+where, text)
		}
		for key, text := range s.stored() { // documents, memory, parked events, dead letters
			secrets.assertNone(t, what+": stored under "+key, text)
		}
	}
	look("all is well", all)
	if !strings.Contains(s.stored()["state/shop/lines.json"], `"journal"`) {
		t.Errorf("there is no memory of late commits: this test would not see a leak")
	}
	if len(to.requests) == 0 {
		t.Fatal("nothing was delivered")
	}
	to.assertMeant(t, secrets)
	assertRunHidesItsToken(t, full, secrets)
	s.add(40, 50)
	to.refuse(http.StatusUnprocessableEntity, `"version":42`)
	look("one row is refused", requests)
	if objects := below(s.stored(), "objects/shop/lines/parked-"); len(objects) == 0 {
		t.Errorf("nothing is parked: this test would not see a leak")
	}
	s.add(50, 60)
	patient := full
	full = full.with(settings{s.own("max_attempts"): "2", s.own("retry_delays"): "10ms"})
	until(t, "the dead letter", func() bool {
		look("one row is given up", requests)
		return len(below(s.stored(), "deadletters/shop/lines/")) > 0
	})
	assertDeadLetter(t, s, full, secrets)
	full = patient
	s.add(60, 80)
	to.answer(http.StatusUnauthorized, "")
	look("401 that repeats the request", requests)
	to.answer(http.StatusInternalServerError, "")
	look("500 that repeats the request", requests)
	to.answer(http.StatusTemporaryRedirect, address.String()+"&again="+secrets["a header"])
	look("a redirect with the secrets in it", all)
	execute(t, s.db, `ALTER ROLE `+role+` PASSWORD 'other'`)
	look("the password does not fit any more", all)
	s.gate.down()
	look("the database is down", all)
}

// assertDeadLetter looks at the record of version 42: it holds the row, which is what it is for, and no secret.
func assertDeadLetter(t *testing.T, s *stall, full settings, secrets planted) {
	t.Helper()
	for key, text := range below(s.stored(), "deadletters/shop/lines/") {
		if !strings.Contains(text, `"version":42`) || !strings.Contains(text, `"status":422`) {
			t.Errorf("the dead letter is not that of version 42, with its row: %s", text)
		}
		id := strings.TrimSuffix(filepath.Base(key), ".json")
		for _, args := range [][]string{{"show", "lines", id}, {"list", "lines"}, {"purge", "lines", id, "--dry-run"}} {
			out, errs, err := command(t, t.TempDir(), full, append([]string{"deadletter"}, args...)...)
			if err != nil || !strings.Contains(out, id) {
				t.Errorf("deadletter %v: %v\n%s%s", args, err, out, errs)
			}
			secrets.assertNone(t, "deadletter "+args[0], out+errs)
		}
	}
}

// assertMeant checks that each secret for the receiver stands in its place, and in no other.
func (r *receiver) assertMeant(t *testing.T, secrets planted) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, req := range r.requests {
		user, password, _ := req.BasicAuth()
		if user != secrets["the user of output__url"] || password != secrets["the password of output__url"] ||
			req.URL.Query().Get("code") != secrets["the query of output__url"] ||
			req.Header.Get("X-Api-Key") != secrets["a header"] ||
			req.Header.Get("X-More") != "Bearer "+secrets["an expanded header"] || req.Header.Get("Webhook-Signature") == "" {
			t.Fatalf("request %d lacks a secret that was meant for it", i)
		}
		rest := req.Header.Clone()
		for _, name := range []string{"Authorization", "X-Api-Key", "X-More"} {
			rest.Del(name)
		}
		secrets.assertNone(t, "a request's other headers", fmt.Sprint(rest, req.URL.Path))
		secrets.assertNone(t, "a request's body", r.bodies[i])
	}
}

// assertRunHidesItsToken looks at /metrics of `rowrelay run`, with the token, without, and with a wrong one.
func assertRunHidesItsToken(t *testing.T, s settings, secrets planted) {
	t.Helper()
	address := programtest.FreeAddress(t)
	r := startRun(t, t.TempDir(), s.with(settings{"status__listen": address}))
	r.Until("the metrics to be served", func() bool { return strings.Contains(r.Log(), `"msg":"running"`) })
	for authorization, want := range map[string]string{"": "401", "Bearer wrong": "401",
		"Bearer " + secrets["status__token"]: "200"} {
		got := get(t, "http://"+address+"/metrics", authorization)
		if !strings.HasPrefix(got, want) {
			t.Errorf("/metrics answered %.80s, want %s", got, want)
		}
		secrets.assertNone(t, "/metrics of run", got)
	}
	secrets.assertNone(t, "the arguments of run", arguments(t, r.PID()))
	if code := r.Interrupt(); code != 0 {
		t.Errorf("exit code %d after SIGINT", code)
	}
	secrets.assertNone(t, "the log of run", r.Log())
}

// withRole makes a role that may log in, for as long as the test.
func withRole(t *testing.T, s *stall, name, password string) {
	t.Helper()
	execute(t, s.db, `CREATE ROLE `+name+` LOGIN PASSWORD '`+password+`'`)
	t.Cleanup(func() { // before the database goes: the role's privileges are in it
		s.gate.up()
		for _, text := range []string{`DROP OWNED BY `, `DROP ROLE `} {
			if _, err := s.db.ExecContext(context.WithoutCancel(t.Context()), text+name); err != nil {
				t.Error(err)
			}
		}
	})
}
