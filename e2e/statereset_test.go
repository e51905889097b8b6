package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// stateView is what `state show --json` prints.
type stateView struct {
	Document, Poller, Owner, Held string
	Position                      struct{ Value int }
	Token                         string `json:"fencing_token"`
	Fingerprint                   string `json:"source_fingerprint"`
	Late                          struct {
		Mode     string
		Frontier struct{ Value int }
	} `json:"late_commits"`
	Paused, Backfill map[string]any
}

// reached is how far rows were delivered: with overlap the position is the window's low edge, behind it.
func (v *stateView) reached() int {
	if v.Late.Mode == "overlap" {
		return v.Late.Frontier.Value
	}
	return v.Position.Value
}

func showState(t *testing.T, dir string, s settings) stateView {
	t.Helper()
	out := stdout(t, dir, s, "state", "show", "orders", "--json")
	var v stateView
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v
}

// answering runs a command and types an answer; no answer is the end of the input.
func answering(t *testing.T, dir string, s settings, answer string, args ...string) (code int, said string) {
	t.Helper()
	cmd := programtest.Command(t.Context(), t,
		programtest.Options{Dir: dir, Settings: s, Stdin: strings.NewReader(answer)}, args...)
	out, err := cmd.CombinedOutput()
	return exitCode(t, err), string(out)
}

// TestStateReset: it asks, refuses, resets, and what is reset is delivered again.
func TestStateReset(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	dir := t.TempDir()
	once := func(s settings) string {
		t.Helper()
		out, errs, err := command(t, dir, s, "run", "--once")
		if err != nil {
			return out + errs
		}
		return ""
	}
	reset := func(to string) []string { return []string{"state", "reset", "orders", "--to", to} }
	if code, said := answering(t, dir, s, "orders\n", reset("beginning")...); code != 1 ||
		!strings.Contains(said, "there is no state document yet") {
		t.Errorf("before the first tick: %d %s", code, said)
	}
	if said := once(s); said != "" {
		t.Fatal(said)
	}
	before := filesBelow(t, s["state__path"])
	for name, answer := range map[string]string{"end of input": "", "end of line": "\n", "another name": "lines\n",
		"yes": "yes\n"} {
		if code, said := answering(t, dir, s, answer, reset("beginning")...); code != 1 ||
			!strings.Contains(said, "nothing was changed") {
			t.Errorf("%s: %d %s", name, code, said)
		}
	}
	if code, said := answering(t, dir, s, "orders\n", reset("the end")...); code != 2 ||
		!strings.Contains(said, "beginning, latest, snapshot, cursor=VALUE or file=PATH") {
		t.Errorf("%d %s", code, said)
	}
	for _, to := range []string{"accept-fingerprint", "accept-gap"} { // nothing to accept: nothing asked, nothing changed
		if code, said := answering(t, dir, s, "", "state", to, "orders"); code != 0 ||
			!strings.Contains(said, "nothing to accept") && !strings.Contains(said, "no gap to accept") {
			t.Errorf("%s: %d %s", to, code, said)
		}
	}
	for path, text := range filesBelow(t, s["state__path"]) {
		if before[path] != text {
			t.Errorf("the document changed: %s", text)
		}
	}
	if code, said := answering(t, dir, s, "orders\n", reset("beginning")...); code != 0 ||
		!strings.Contains(said, "delivered again") {
		t.Errorf("%d %s", code, said)
	}
	token := showState(t, dir, s).Token
	if said := once(s); said != "" {
		t.Fatal(said)
	}
	if n, repeated := to.count(); n != 3 || repeated != 3 {
		t.Errorf("%d events, %d repeated: all were to be delivered again, as the same events", n, repeated)
	}
	if after := showState(t, dir, s).Token; token != "1" || after != "2" {
		t.Errorf("the token went from %s to %s: a reset must not take it back", token, after)
	}
}

// TestStateResetOfAnUnreadableDocument: the mend that the tick's error names works, and the token is not taken back.
func TestStateResetOfAnUnreadableDocument(t *testing.T) {
	to := newSink(t)
	s := sqliteStall(t, to.URL)
	s.add(1, 4)
	dir := t.TempDir()
	once(t, dir, s.settings)
	for name, text := range map[string]string{"truncated": `{"version": 1, "lease": {"fencing_token": 41,`, "empty": ""} {
		s.tamper(text)
		if code, said := answering(t, dir, s.settings, "", "state", "show", "orders"); code != 1 ||
			!strings.Contains(said, name) {
			t.Errorf("%s: show: %d %s", name, code, said)
		}
		if code, said := answering(t, dir, s.settings, "no\n", "state", "reset", "orders", "--to", "beginning"); code != 1 ||
			!strings.Contains(said, "nothing was changed") {
			t.Errorf("%s: not confirmed: %d %s", name, code, said)
		}
		if code, said := answering(t, dir, s.settings, "orders\n", "state", "reset", "orders", "--to",
			"beginning"); code != 0 {
			t.Errorf("%s: %d %s", name, code, said)
		}
		if token := showState(t, dir, s.settings).Token; name == "truncated" && token != "41" || len(token) < 2 {
			t.Errorf("%s: the token is %s", name, token)
		}
		if out, errs, err := command(t, dir, s.settings, "run", "--once"); err != nil {
			t.Errorf("%s: %v\n%s%s", name, err, out, errs)
		}
	}
	// One that a newer binary wrote is left alone.
	s.tamper(`{"version": 2}`)
	if code, said := answering(t, dir, s.settings, "orders\n", "state", "reset", "orders", "--to",
		"beginning"); code != 1 || !strings.Contains(said, "use a newer rowrelay") {
		t.Errorf("%d %s", code, said)
	}
}

// TestStateResetWhileHeld: an instance at work is not pulled the rug from under.
func TestStateResetWhileHeld(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	reached, release := make(chan struct{}), make(chan struct{})
	to.decide(holdFirst(to, reached, release))
	dir := t.TempDir()
	r := startRun(t, dir, s, "--once")
	<-reached
	for _, args := range [][]string{{"--to", "beginning"}, {"--to", "beginning", "--yes"}} {
		code, said := answering(t, dir, s, "orders\n", append([]string{"state", "reset", "orders"}, args...)...)
		if code != 1 || !strings.Contains(said, "the lease is held by shop/") ||
			!strings.Contains(said, "pause the poller first") {
			t.Errorf("%d %s", code, said)
		}
	}
	wants(t, stdout(t, dir, s, "state", "show", "orders"), "state/shop/orders.json", "(beginning)",
		"the lease is held by shop/", "token        1")
	wants(t, stdout(t, dir, s, "check"), "the lease is held by shop/") // it looks, and disturbs nobody
	close(release)
	if code := r.Wait(); code != 0 { // the request that was held failed; its repetition worked
		t.Errorf("exit code %d: %s", code, r.Log())
	}
}
