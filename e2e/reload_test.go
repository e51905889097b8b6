package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestReload: what a file of settings says anew takes effect in a process that runs, in the middle of a request:
// nothing is lost or sent twice. What is at fault, or needs a restart, is told, and the settings that run go on.
func TestReload(t *testing.T) {
	t.Parallel()
	t.Run("SIGHUP", func(t *testing.T) { t.Parallel(); reloads(t, "SIGHUP") })
	t.Run("watch", func(t *testing.T) { t.Parallel(); reloads(t, "the file has changed", "--watch") })
}

func reloads(t *testing.T, because string, flags ...string) {
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 300)
	execute(t, db, `CREATE TABLE items (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, status TEXT NOT NULL)`)
	execute(t, db, `INSERT INTO items VALUES (1, 1, 'item')`)
	s = s.with(settings{"pollers__orders__output__batch": "1", "pollers__orders__concurrency": "1",
		"status__listen": "127.0.0.1:0", "pollers__orders__poll_interval": "20ms", "pollers__orders__schedule": "* * * * * *",
		"pollers__orders__source__late_commits": "none"})
	reached, release := make(chan struct{}), make(chan struct{})
	n := 0
	to.decide(func(http.ResponseWriter, []cloudEvent) bool {
		if n++; n == 4 {
			close(reached)
			to.mu.Unlock()
			<-release
			to.mu.Lock()
		}
		return true
	})
	path := filepath.Join(t.TempDir(), "rowrelay.yaml")
	r := &reloader{t: t, path: path, because: because, hup: len(flags) == 0}
	r.write(s)
	p := startRun(t, t.TempDir(), nil, append([]string{"--config", path}, flags...)...)
	r.log, r.signal = p.Log, func() { p.Signal(syscall.SIGHUP) }

	<-reached
	more := s.with(settings{"pollers__items__source__connection": "SHOP_DB", "pollers__items__source__table": "items",
		"pollers__items__source__cursor": "version", "pollers__items__output__kind": "http",
		"pollers__items__output__url": to.URL, "pollers__items__schedule": "* * * * * *",
		"pollers__orders__output__constants__note": "anew"})
	r.to(more, `"added":["items"],"changed":["orders"],"gone":null`)
	close(release)
	p.Until("all of both tables", func() bool { n, _ := to.count(); return n == 301 })
	if by := to.column("note"); by["anew"] < 250 || by["anew"] > 296 {
		t.Errorf("events by the note that the second settings add: %v", by)
	}
	status := regexp.MustCompile(`"status":"(http[^"]+)"`).FindAllStringSubmatch(p.Log(), -1)
	if len(status) != 2 || status[0][1] != status[1][1] {
		t.Fatalf("the page is at %v", status)
	}
	page := get(t, strings.TrimSuffix(status[1][1], "/status")+"/metrics", "")
	if !strings.Contains(page, `poller="items"`) {
		t.Errorf("no items among the metrics:\n%s", page)
	}

	for _, refused := range []struct {
		settings settings
		because  string
	}{
		{more.with(settings{"pollers__orders__batch_size": "none"}), "pollers__orders__batch_size: "},
		{more.with(settings{"state__app_name": "other", "status__listen": ""}),
			"of the process: state__app_name, status__listen"},
		{more.with(settings{"pollers__items__source__connection": "GONE_DB"}), "GONE_DB"},
	} {
		r.to(refused.settings, refused.because)
	}
	r.text("pollers: {orders: {source: [", "is no YAML")
	execute(t, db, `INSERT INTO orders (version, status) VALUES (301, 'new')`)
	execute(t, db, `INSERT INTO items VALUES (2, 2, 'item')`)
	p.Until("what came after a refusal", func() bool { n, _ := to.count(); return n == 303 })

	r.to(s, `"added":null,"changed":["orders"],"gone":["items"]`)
	execute(t, db, `INSERT INTO items VALUES (3, 3, 'item')`)
	execute(t, db, `INSERT INTO orders (version, status) VALUES (302, 'last')`)
	p.Until("the last order", func() bool { return to.column("status")["last"] == 1 })
	if code := p.Interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if n, repeated := to.count(); n != 304 || repeated != 0 {
		t.Errorf("%d events, want 304, %d repeated", n, repeated)
	}
	to.assertOrder("version")
}

// TestAReloadBeginsNothingAnew: a state document that vanished under a process is not begun anew after a reload either,
// also where one takes the poller out and the next brings it again. A process that is started begins it.
func TestAReloadBeginsNothingAnew(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 3)
	s = s.with(settings{"status__listen": "127.0.0.1:0", "pollers__orders__schedule": "* * * * * *"})
	r := &reloader{t: t, path: filepath.Join(t.TempDir(), "rowrelay.yaml"), because: "SIGHUP", hup: true}
	r.write(s)
	p := startRun(t, t.TempDir(), nil, "--config", r.path)
	r.log, r.signal = p.Log, func() { p.Signal(syscall.SIGHUP) }
	p.Until("the end of the tick", func() bool { return strings.Contains(p.Log(), `"event":"tick_complete"`) })
	if err := os.Remove(filepath.Join(s["state__path"], "state", "shop", "orders.json")); err != nil {
		t.Fatal(err)
	}
	execute(t, db, `INSERT INTO orders (version, status) VALUES (4, 'new')`)
	gone := func() int { return strings.Count(p.Log(), `"event":"state_gone"`) }
	p.Until("the word that the document is gone", func() bool { return gone() > 0 })
	other := settings{} // a poller that does not tick before the next reload
	for name, value := range s {
		other[strings.Replace(name, "__orders__", "__others__", 1)] = value
	}
	other["pollers__others__schedule"] = "0 0 0 29 2 *"
	r.to(s, `"event":"reload"`)
	r.to(other, `"gone":["orders"]`)
	r.to(s, `"added":["orders"]`)
	before := gone()
	p.Until("the same word after reloads", func() bool { return gone() > before })
	if n, repeated := to.count(); n != 3 || repeated != 0 {
		t.Errorf("%d events, want the 3 of before, %d repeated", n, repeated)
	}
	if code := p.Interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p = startRun(t, t.TempDir(), nil, "--config", r.path)
	p.Until("all orders by a process that is started", func() bool {
		n, repeated := to.count()
		return n == 4 && repeated == 3
	})
	p.Interrupt()
}

// TestAReloadDoesNotWaitForASlowRequest: each poller goes on when its own tick has ended. Nobody runs twice at once:
// also one that is taken out and brought again waits for the request that it began before.
func TestAReloadDoesNotWaitForASlowRequest(t *testing.T) {
	t.Parallel()
	slow, quick := newSink(t), newSink(t)
	s, db := sqliteShop(t, slow.URL, 1)
	execute(t, db, `CREATE TABLE items (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)`)
	without := settings{"pollers__items__source__connection": "SHOP_DB", "pollers__items__source__table": "items",
		"pollers__items__source__cursor": "version", "pollers__items__output__kind": "http",
		"pollers__items__output__url": quick.URL, "status__listen": "127.0.0.1:0",
		"defaults__schedule": "* * * * * *", "defaults__output__timeout": "100s"}
	for name, value := range s {
		if !strings.Contains(name, "__orders__") {
			without[name] = value
		}
	}
	s = s.with(without)
	reached, release := make(chan struct{}, 100), make(chan struct{})
	slow.decide(func(http.ResponseWriter, []cloudEvent) bool {
		reached <- struct{}{}
		slow.mu.Unlock()
		<-release
		slow.mu.Lock()
		return true
	})
	r := &reloader{t: t, path: filepath.Join(t.TempDir(), "rowrelay.yaml"), because: "SIGHUP", hup: true}
	r.write(s)
	p := startRun(t, t.TempDir(), nil, "--config", r.path)
	r.log, r.signal = p.Log, func() { p.Signal(syscall.SIGHUP) }
	<-reached
	items := 0
	arrives := func(when string) {
		t.Helper()
		items++
		execute(t, db, `INSERT INTO items VALUES (?, ?)`, items, items)
		p.Until("an item "+when, func() bool { n, _ := quick.count(); return n == items })
	}
	r.to(s, `"added":null,"changed":null,"gone":null`)
	arrives("after a reload that changes nothing")
	r.to(without, `"gone":["orders"]`)
	arrives("without the slow poller")
	r.to(s, `"added":["orders"]`)
	arrives("beside the slow poller that is back")
	if n := len(reached); n > 0 || strings.Contains(p.Log(), "lease_acquire_skipped") {
		t.Errorf("the slow poller ran twice at once: %d more requests", n)
	}
	close(release)
	execute(t, db, `INSERT INTO orders (version, status) VALUES (2, 'last')`)
	p.Until("the orders", func() bool { n, _ := slow.count(); return n == 2 })
	if code := p.Interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, to := range []*sink{slow, quick} {
		if _, repeated := to.count(); repeated != 0 {
			t.Errorf("%d events repeated", repeated)
		}
	}
}

// reloader writes the file of a process, and waits until it has been read.
type reloader struct {
	t             *testing.T
	path, because string
	hup           bool
	log           func() string
	signal        func()
}

func (r *reloader) write(s settings) {
	r.t.Helper()
	text, others := "", "env:\n"
	for name, value := range s {
		if strings.Contains(name, "__") {
			text += fmt.Sprintf("%s: %q\n", name, value)
		} else {
			others += fmt.Sprintf("  %s: %q\n", name, value)
		}
	}
	r.writeText(text + others)
}

func (r *reloader) writeText(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// to lets other settings be read, and wants the line about it to say something.
func (r *reloader) to(s settings, want string) {
	r.t.Helper()
	r.after(func() { r.write(s) }, want)
}

// text is to for a file that is no settings.
func (r *reloader) text(text, want string) {
	r.t.Helper()
	r.after(func() { r.writeText(text) }, want)
}

func (r *reloader) after(write func(), want string) {
	r.t.Helper()
	lines := func() (found []string) {
		for line := range strings.Lines(r.log()) {
			if strings.Contains(line, fmt.Sprintf(`"because":%q`, r.because)) {
				found = append(found, line)
			}
		}
		return found
	}
	before := len(lines())
	write()
	if r.hup {
		r.signal()
	}
	until(r.t, "the reload", func() bool { return len(lines()) > before })
	if last := lines()[before]; !strings.Contains(last, want) {
		r.t.Errorf("the reload says %s, want %s", last, want)
	}
}

// TestTablesComeAndGo: a pattern is a poller for each table, in a process that runs too: one that is made later is
// watched, one that is dropped is told, and the others lose and repeat nothing. What was edited in the file meanwhile
// waits for SIGHUP.
func TestTablesComeAndGo(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 5)
	delete(s, "pollers__orders__source__table")
	s = s.with(settings{"pollers__orders__source__tables": "*, !tmp_*", "pollers__orders__schedule": "* * * * * *",
		"status__listen": "127.0.0.1:0", "pollers__orders__source__late_commits": "none",
		"pollers__orders_items__output__constants__remark": "an item"})
	execute(t, db, `CREATE TABLE tmp_items (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)`)
	execute(t, db, `CREATE TABLE odd (id INTEGER PRIMARY KEY)`)
	dir := t.TempDir()
	wants(t, stdout(t, dir, s, "check"), "orders_orders", "leaves out 1 of the tables", "main.odd (no column version)")
	wants(t, stdout(t, dir, s, "config", "to-env", "--tables"), "pollers__orders_orders__source__table=main.orders\n")
	wants(t, stdout(t, dir, s, "functions"), "orders_orders/function.json written", "takes no source__tables")
	r := &reloader{t: t, path: filepath.Join(dir, "rowrelay.yaml"), because: "SIGHUP", hup: true}
	r.write(s)
	p := startRun(t, dir, nil, "--config", r.path)
	r.log, r.signal = p.Log, func() { p.Signal(syscall.SIGHUP) }
	p.Until("the orders", func() bool { n, _ := to.count(); return n == 5 })
	edited := s.with(settings{"pollers__orders__output__constants__version_of_file": "edited"})
	r.write(edited)
	execute(t, db, `CREATE TABLE items (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, note TEXT)`)
	execute(t, db, `INSERT INTO items VALUES (1, 1, 'row')`)
	execute(t, db, `INSERT INTO orders (version, status) VALUES (6, 'new')`)
	p.Until("the item of a table that is new", func() bool { n, _ := to.count(); return n == 7 })
	if notes := to.column("remark"); notes["an item"] != 1 {
		t.Errorf("the table's own setting: %v", notes)
	}
	wants(t, p.Log(), `"because":"other tables are there","added":["orders_items"],"changed":null,"gone":null`)
	execute(t, db, `DROP TABLE items`)
	p.Until("the word about the table that is gone", func() bool {
		return strings.Contains(p.Log(), `"added":null,"changed":null,"gone":["orders_items"]`)
	})
	if by := to.column("version_of_file"); by["edited"] != 0 {
		t.Errorf("events by the file before SIGHUP: %v", by)
	}
	r.to(edited, `"added":null,"changed":["orders_orders"],"gone":null`)
	execute(t, db, `INSERT INTO orders (version, status) VALUES (7, 'last')`)
	p.Until("the last order", func() bool { return to.column("status")["last"] == 1 })
	if by := to.column("version_of_file"); by["edited"] != 1 {
		t.Errorf("events by the file after SIGHUP: %v", by)
	}
	if code := p.Interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if n, repeated := to.count(); n != 8 || repeated != 0 {
		t.Errorf("%d events, want 8, %d repeated", n, repeated)
	}
}
