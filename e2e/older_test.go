package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestOlderBuilds: what older builds left amid their work is gone on from. What they delivered does not come
// again, what they had parked comes under its old id, what is new comes, and their dead letters, and the events that
// wait, are still there. The files were written by those builds: see scripts/older.py.
func TestOlderBuilds(t *testing.T) {
	builds, err := filepath.Glob("testdata/older/*")
	if err != nil || len(builds) < 5 {
		t.Fatal(builds, err)
	}
	for _, build := range builds {
		t.Run(filepath.Base(build), func(t *testing.T) {
			t.Parallel()
			o := leftBy(t, build)
			if out, errs, err := command(t, o.dir, o.settings, "check"); err != nil {
				t.Errorf("check: %v\n%s%s", err, out, errs)
			}

			came := o.once()
			wants := map[string][]string{"exact": {"2", "9"}, "overlap": {"2", "3", "9"}, "given": {"9"},
				"held": {"2", "3", "4", "5", "6", "7", "8", "9"}, "tracked": {"2", "3", "9"},
				"own": {"2", "4", "6", "9"}, "mapped": {"9"}}
			if o.has("tracked") { // there a row was deleted
				wants["held"] = slices.Delete(wants["held"], 2, 3)
			}
			for poller, want := range wants {
				if got := came[poller]; o.has(poller) && !slices.Equal(sorted(got), want) {
					t.Errorf("%s: there came %v, want %v", poller, got, want)
				}
			}
			if !slices.IsSorted(came["held"]) {
				t.Errorf("held: out of order came %v", came["held"])
			}
			to := o.to
			to.mu.Lock()
			for _, id := range o.parked {
				if !o.ids[id] {
					t.Errorf("the parked event %s has not come under its id", id)
				}
			}
			to.mu.Unlock()
			if got := came["own"]; o.has("own") && slices.Index(got, "2") > slices.Index(got, "4") {
				t.Errorf("own: an event has passed the failed one before it: %v", got)
			}

			stdout(t, o.dir, o.settings, "deadletter", "replay", "given", o.letter, "--yes")
			if o.has("mapped") {
				stdout(t, o.dir, o.settings, "outbox", "requeue", "mapped", "--yes")
			}
			came = o.once()
			if got := came["given"]; !slices.Equal(got, []string{"2"}) {
				t.Errorf("of the dead letters came %v", got)
			}
			if got := came["mapped"]; o.has("mapped") && !slices.Equal(got, []string{"2", "4", "6"}) {
				t.Errorf("after the dead letter came %v", got)
			}
			delete(came, "given")
			delete(came, "mapped")
			if len(came) > 0 {
				t.Errorf("again came %v", came)
			}
		})
	}
}

// older is what a build left, and what comes of it now.
type older struct {
	t        *testing.T
	dir      string
	settings settings
	accepted map[string]bool // ids, by the older build's receiver
	parked   []string        // the ids of parked events
	letter   string          // the id of the dead letter
	to       *sink
	came     map[string][]string // by poller; like ids, guarded by the sink's lock
	ids      map[string]bool
}

// leftBy copies what a build left to where a test may write.
func leftBy(t *testing.T, build string) *older {
	t.Helper()
	o := &older{t: t, dir: t.TempDir(), accepted: map[string]bool{}, came: map[string][]string{}, ids: map[string]bool{}}
	if err := os.CopyFS(filepath.Join(o.dir, "state"), os.DirFS(filepath.Join(build, "state"))); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(o.dir, "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, string(testfile.Read(t, filepath.Join(build, "shop.sql"))))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var accepted [][2]string
	o.read(filepath.Join(build, "accepted.json"), &accepted)
	for _, a := range accepted {
		o.accepted[strings.Join(a[:], " ")] = true
	}
	for _, file := range o.files("state/objects/shop/*/parked-*") {
		var object struct{ Entries []struct{ ID string } }
		o.read(file, &object)
		for _, entry := range object.Entries {
			o.parked = append(o.parked, entry.ID)
		}
	}
	letters := o.files("state/deadletters/shop/given/[^~]*.json")
	if len(o.parked) < 3 || len(letters) != 1 {
		t.Fatalf("parked are %v, dead letters %v", o.parked, letters)
	}
	o.letter = strings.TrimSuffix(filepath.Base(letters[0]), ".json")

	o.read(filepath.Join(build, "settings.json"), &o.settings)
	o.to = newSink(t)
	o.to.decide(o.take)
	for name, value := range o.settings {
		if before, ok := strings.CutSuffix(name, "output__kind"); ok && value == "http" {
			o.settings[before+"output__url"] = o.to.URL
		}
	}
	return o
}

func (o *older) read(file string, into any) {
	o.t.Helper()
	if err := json.Unmarshal(testfile.Read(o.t, file), into); err != nil {
		o.t.Fatalf("%s: %v", file, err)
	}
}

func (o *older) files(pattern string) []string {
	o.t.Helper()
	files, err := filepath.Glob(filepath.Join(o.dir, pattern))
	if err != nil {
		o.t.Fatal(err)
	}
	return files
}

func (o *older) has(poller string) bool {
	_, ok := o.settings["pollers__"+poller+"__source__table"]
	return ok
}

// once runs every poller, and returns what came of each since the last time.
func (o *older) once() (came map[string][]string) {
	o.t.Helper()
	if out, errs, err := command(o.t, o.dir, o.settings, "run", "--once"); err != nil {
		o.t.Errorf("run --once: %v\n%s%s", err, out, errs)
	}
	o.to.mu.Lock()
	defer o.to.mu.Unlock()
	came, o.came = o.came, map[string][]string{}
	return came
}

// take notes what comes of each poller: the number of the row or event.
func (o *older) take(_ http.ResponseWriter, events []cloudEvent) bool {
	for _, e := range events {
		poller := e.Source[strings.LastIndex(e.Source, "/")+1:]
		number := e.Subject
		if n, ok := e.Data["n"]; ok {
			number = fmt.Sprint(n)
		}
		if o.accepted[poller+" "+e.ID] && poller != "held" { // early builds sent probes ahead of the event it waits at
			o.t.Errorf("%s: %s came again, which the older build had delivered", poller, number)
		}
		o.came[poller] = append(o.came[poller], number)
		o.ids[e.ID] = true
	}
	return true
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
