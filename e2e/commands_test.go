package e2e

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wants fails for each part that the text lacks.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
}

// TestDisclosure: wherever a user begins, it is said what Rowrelay is not (seeds/003, §14).
func TestDisclosure(t *testing.T) {
	texts := map[string]string{}
	for name, args := range map[string][]string{"help": {"--help"}, "no arguments": {}, "serve's help": {"serve", "--help"}, "run's help": {"run", "--help"}} {
		out, errs, err := command(t.Context(), t.TempDir(), settings{}, args...)
		if err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
		texts[name] = out
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	screen := strings.SplitN(string(readme), "\n", 25)
	texts["README's first screen"] = strings.Join(screen[:24], "\n")
	for _, file := range []string{"cmd/rowrelay/main.go", "handler/handler.go", "change/change.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		texts["package comment of "+file] = parsed.Doc.Text()
	}
	for where, text := range texts {
		plain := strings.Join(strings.Fields(strings.NewReplacer("*", "", "> ", "").Replace(text)), " ")
		for _, phrase := range []string{"not a native database trigger", "a pseudo trigger built on Azure Functions timers", "at-least-once", "receivers must be idempotent"} {
			if !strings.Contains(plain, phrase) {
				t.Errorf("%s lacks %q:\n%s", where, phrase, text)
			}
		}
	}
}

// TestHelp: each command says what it does, and its flags.
func TestHelp(t *testing.T) {
	for args, parts := range map[string][]string{
		"":                  {"rowrelay demo", "rowrelay check", "rowrelay run", "rowrelay functions", "serve", "state", "version", "--settings", "--json", "docs/settings.md", "local.settings.json"},
		"serve":             {"FUNCTIONS_CUSTOMHANDLER_PORT", "never exits on a fault", "--port"},
		"run":               {"Ctrl-C", "status__listen", "--once", "schedule"},
		"check":             {"statement", "index", "first rows", "sends and changes nothing", "--rows"},
		"state":             {"show", "reset", "pause", "resume", "clone", "export", "import", "accept-fingerprint", "accept-gap", "--output"},
		"status":            {"failing", "exit", "--json"},
		"state show":        {"position, lease, parked events"},
		"state reset":       {"--to beginning", "--to latest", "--to cursor=", "--to file=", "--yes", "--dry-run", "--break-lease", "refused while an instance holds the lease"},
		"deadletter":        {"list", "show", "replay", "purge"},
		"deadletter replay": {"--as-recorded", "BREAKS THE ORDER", "--dry-run", "--reason"},
		"backfill":          {"--from", "--to", "--rate", "--stop", "order of each key holds"},
		"functions":         {"function.json", "ORDERS_SCHEDULE", "--force"},
		"demo":              {"--connection"},
		"version":           {"version"},
	} {
		out, errs, err := command(t.Context(), t.TempDir(), settings{}, append(strings.Fields(args), "--help")...)
		if err != nil || errs != "" {
			t.Errorf("%s: %v: %s", args, err, errs)
		}
		wants(t, out, parts...)
	}
}

// TestMistypedCommands: what is not understood is an error on stderr that names what there is.
func TestMistypedCommands(t *testing.T) {
	s, _ := sqliteShop(t, "http://127.0.0.1:9/", 0)
	for args, want := range map[string]string{
		"chekc":                        "there is no command rowrelay chekc: did you mean rowrelay check?",
		"run --onec":                   "unknown flag: --onec",
		"run absent --once":            `there is no poller "absent": the settings name ["orders"]`,
		"check absent":                 `there is no poller "absent"`,
		"state show absent":            `there is no poller "absent"`,
		"state show orders":            "there is no state document yet",
		"state show":                   "accepts 1 arg(s)",
		"state reset orders":           `say where to: --to beginning`,
		"state show --output x orders": `no output "x"`,
		"functions absent":             `no poller "absent"`,
		"run --settings absent.json":   "absent.json",
		"serve":                        "rowrelay run",
	} {
		out, errs, err := command(t.Context(), t.TempDir(), s, strings.Fields(args)...)
		if exitCode(t, err) != 1 || out != "" || strings.Count(strings.TrimSpace(errs), "\n") > 3 {
			t.Errorf("%s: %v\n%s%s", args, err, out, errs)
		}
		wants(t, errs, want)
	}
	// serve names what the host would have set, and what to do without it.
	_, errs, _ := command(t.Context(), t.TempDir(), s, "serve")
	wants(t, errs, "FUNCTIONS_CUSTOMHANDLER_PORT", "func start", "rowrelay run", "--port")
}

func TestVersion(t *testing.T) {
	out, _, err := command(t.Context(), t.TempDir(), settings{}, "version", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"version", "go", "platform"} {
		if text, _ := v[name].(string); text == "" {
			t.Errorf("no %s: %s", name, out)
		}
	}
	out, _, err = command(t.Context(), t.TempDir(), settings{}, "version")
	if err != nil || !strings.HasPrefix(out, "rowrelay ") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestRunOnceExitCodes: 0 when all ticks ended well, 1 when one failed, though the other worked.
func TestRunOnceExitCodes(t *testing.T) {
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 3)
	dir := t.TempDir()
	run := func(more settings, args ...string) (code int, said string) {
		out, errs, err := command(t.Context(), dir, s.with(more), append([]string{"run", "--once"}, args...)...)
		return exitCode(t, err), out + errs
	}
	if code, said := run(nil); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, said := run(nil, "ORDERS"); code != 0 { // idle; names are compared without regard to case
		t.Errorf("exit code %d: %s", code, said)
	}
	bad := settings{
		"pollers__bad__source__connection": "SHOP_DB", "pollers__bad__source__table": "absent", "pollers__bad__source__cursor": "version",
		"pollers__bad__output__kind": "http", "pollers__bad__output__url": to.URL,
	}
	execute(t, db, `INSERT INTO orders (version, status) VALUES (4, 'new')`)
	if code, said := run(bad); code != 1 || strings.Count(said, `"level":"ERROR"`) != 1 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if n, _ := to.count(); n != 4 {
		t.Errorf("%d events, want 4: the good poller works beside the bad one", n)
	}
	if code, said := run(bad, "orders"); code != 0 {
		t.Errorf("exit code %d for the good one alone: %s", code, said)
	}
	if code, said := run(settings{"pollers__orders__batch_size": "0", "pollers__orders__concurrency": "x"}); code != 1 ||
		!strings.Contains(said, "2 fault(s)") || !strings.Contains(said, "batch_size") || !strings.Contains(said, "concurrency") {
		t.Errorf("exit code %d: %s", code, said)
	}
	// Without any settings it says how to begin.
	_, errs, err := command(t.Context(), dir, settings{}, "run", "--once")
	if exitCode(t, err) != 1 {
		t.Error("no settings, no failure")
	}
	wants(t, errs, "there is no poller", "pollers__orders__source__connection=ORDERS_DB")
}

// TestRunEndsCleanly: Ctrl-C while a request is under way: it is finished, what was accepted is committed, the lease is
// free, and the exit code is 0. What comes later goes on behind it.
// With overlap that holds although the position itself stays at the window's low edge: the memory is stored.
func TestRunEndsCleanly(t *testing.T) {
	for _, mode := range []string{"auto", "none"} {
		t.Run(mode, func(t *testing.T) { runEndsCleanly(t, mode) })
	}
}

func runEndsCleanly(t *testing.T, mode string) {
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 300)
	s = s.with(settings{"pollers__orders__output__batch": "1", "pollers__orders__concurrency": "1", "status__listen": "127.0.0.1:0", "pollers__orders__source__late_commits": mode})
	reached, release := make(chan struct{}), make(chan struct{})
	n := 0
	to.decide(func(http.ResponseWriter, []cloudEvent) bool {
		if n++; n == 4 {
			close(reached)
			to.mu.Unlock()
			<-release
			to.mu.Lock()
		}
		if n > 4 {
			wait(t.Context(), 5*time.Millisecond) // a slow receiver: the signal comes in the middle of its work
		}
		return true
	})
	dir := t.TempDir()
	r := startRun(t, dir, s)
	<-reached
	signal(t, r.cmd.Process.Pid, 2)
	close(release)
	if code := r.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	wants(t, r.text(), `"msg":"stopped"`)
	done, _ := to.count()
	if done < 4 || done == 300 {
		t.Fatalf("%d events were accepted: it was meant to end in the middle", done)
	}
	view := showState(t, dir, s)
	if view.Held != "" || view.Owner != "" || view.reached() != done {
		t.Errorf("after %d events: %+v", done, view)
	}
	execute(t, db, `INSERT INTO orders (version, status) VALUES (301, 'new')`)
	if out, errs, err := command(t.Context(), dir, s, "run", "--once"); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	if n, repeated := to.count(); n != 301 || repeated != 0 {
		t.Errorf("%d events, %d repeated: a clean end repeats nothing", n, repeated)
	}
}

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
	out, errs, err := command(t.Context(), dir, s, "state", "show", "orders", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	var v stateView
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v
}

// answering runs a command and types an answer; no answer is the end of the input.
func answering(t *testing.T, dir string, s settings, answer string, args ...string) (code int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, s.environ(), strings.NewReader(answer)
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
		out, errs, err := command(t.Context(), dir, s, "run", "--once")
		if err != nil {
			return out + errs
		}
		return ""
	}
	reset := func(to string) []string { return []string{"state", "reset", "orders", "--to", to} }
	if code, said := answering(t, dir, s, "orders\n", reset("beginning")...); code != 1 || !strings.Contains(said, "there is no state document yet") {
		t.Errorf("before the first tick: %d %s", code, said)
	}
	if said := once(s); said != "" {
		t.Fatal(said)
	}
	before := filesBelow(t, s["state__path"])
	for name, answer := range map[string]string{"end of input": "", "end of line": "\n", "another name": "lines\n", "yes": "yes\n"} {
		if code, said := answering(t, dir, s, answer, reset("beginning")...); code != 1 || !strings.Contains(said, "nothing was changed") {
			t.Errorf("%s: %d %s", name, code, said)
		}
	}
	if code, said := answering(t, dir, s, "orders\n", reset("the end")...); code != 1 || !strings.Contains(said, "beginning, latest, cursor=VALUE or file=PATH") {
		t.Errorf("%d %s", code, said)
	}
	for _, to := range []string{"accept-fingerprint", "accept-gap"} { // nothing to accept: nothing asked, nothing changed
		if code, said := answering(t, dir, s, "", "state", to, "orders"); code != 0 || !strings.Contains(said, "nothing to accept") && !strings.Contains(said, "no gap to accept") {
			t.Errorf("%s: %d %s", to, code, said)
		}
	}
	for path, text := range filesBelow(t, s["state__path"]) {
		if before[path] != text {
			t.Errorf("the document changed: %s", text)
		}
	}
	if code, said := answering(t, dir, s, "orders\n", reset("beginning")...); code != 0 || !strings.Contains(said, "delivered again") {
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
	changed := s.with(settings{"pollers__orders__source__where": "status <> 'gone'"})
	if said := once(changed); !strings.Contains(said, "fingerprint_mismatch") {
		t.Errorf("a changed filter: %s", said)
	}
	if code, said := answering(t, dir, changed, "orders\n", "state", "accept-fingerprint", "orders"); code != 0 {
		t.Errorf("%d %s", code, said)
	}
	if said := once(changed); said != "" {
		t.Error(said)
	}
	if said := once(s); !strings.Contains(said, "fingerprint_mismatch") {
		t.Errorf("the filter as it was: %s", said)
	}
	if code, said := answering(t, dir, s, "", append(reset("beginning"), "--yes")...); code != 0 {
		t.Errorf("%d %s", code, said)
	}
}

// TestStateResetOfAnUnreadableDocument: the mend that the tick's error names works, and the token is not taken back.
func TestStateResetOfAnUnreadableDocument(t *testing.T) {
	to := newSink(t)
	s := sqliteStall(t, to.URL)
	s.add(1, 4)
	dir := t.TempDir()
	if out, errs, err := command(t.Context(), dir, s.settings, "run", "--once"); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	for name, text := range map[string]string{"truncated": `{"version": 1, "lease": {"fencing_token": 41,`, "empty": ""} {
		s.tamper(text)
		if code, said := answering(t, dir, s.settings, "", "state", "show", "orders"); code != 1 || !strings.Contains(said, name) {
			t.Errorf("%s: show: %d %s", name, code, said)
		}
		if code, said := answering(t, dir, s.settings, "no\n", "state", "reset", "orders", "--to", "beginning"); code != 1 || !strings.Contains(said, "nothing was changed") {
			t.Errorf("%s: not confirmed: %d %s", name, code, said)
		}
		if code, said := answering(t, dir, s.settings, "orders\n", "state", "reset", "orders", "--to", "beginning"); code != 0 {
			t.Errorf("%s: %d %s", name, code, said)
		}
		if token := showState(t, dir, s.settings).Token; name == "truncated" && token != "41" || len(token) < 2 {
			t.Errorf("%s: the token is %s", name, token)
		}
		if out, errs, err := command(t.Context(), dir, s.settings, "run", "--once"); err != nil {
			t.Errorf("%s: %v\n%s%s", name, err, out, errs)
		}
	}
	// One that a newer binary wrote is left alone.
	s.tamper(`{"version": 2}`)
	if code, said := answering(t, dir, s.settings, "orders\n", "state", "reset", "orders", "--to", "beginning"); code != 1 || !strings.Contains(said, "use a newer rowrelay") {
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
		if code != 1 || !strings.Contains(said, "the lease is held by shop/") || !strings.Contains(said, "pause the poller first") {
			t.Errorf("%d %s", code, said)
		}
	}
	out, _, err := command(t.Context(), dir, s, "state", "show", "orders")
	if err != nil {
		t.Error(err)
	}
	wants(t, out, "state/shop/orders.json", "(beginning)", "the lease is held by shop/", "token        1")
	out, _, err = command(t.Context(), dir, s, "check") // looks, and disturbs nobody
	if err != nil {
		t.Error(err)
	}
	wants(t, out, "the lease is held by shop/")
	close(release)
	if code := r.wait(t); code != 0 { // the request that was held failed; its repetition worked
		t.Errorf("exit code %d: %s", code, r.text())
	}
}

func TestFunctions(t *testing.T) {
	s, _ := sqliteShop(t, "http://127.0.0.1:9/", 0)
	dir := t.TempDir()
	path := filepath.Join(dir, "orders", "function.json")
	run := func(args ...string) string {
		t.Helper()
		out, errs, err := command(t.Context(), dir, s, append([]string{"functions"}, args...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
		return out
	}
	wants(t, run(), "orders/function.json written", "ORDERS_SCHEDULE")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(text), `"timerTrigger"`, `"%ORDERS_SCHEDULE%"`)
	const mine = `{"bindings":[]}`
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, run("orders"), "left alone", "--force")
	if kept, err := os.ReadFile(path); err != nil || string(kept) != mine {
		t.Errorf("%v: %s", err, kept)
	}
	wants(t, run("--force"), "written")
	if again, err := os.ReadFile(path); err != nil || string(again) != string(text) {
		t.Errorf("%v: %s", err, again)
	}
}
