package docs_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state/memstore"
)

var updateFailures = flag.Bool("update-failures", false, "write the table of docs/failures.md")

// step is one call that a tick makes to something outside itself.
type step string

const (
	readDocument   step = "read the state document"
	createDocument step = "create the state document"
	fetchRows      step = "fetch rows"
	takeLease      step = "take the lease"
	deliver        step = "deliver a request"
	writeLetter    step = "write the dead letter"
	writeParked    step = "write the object of parked events"
	writeMemory    step = "write the memory of late commits"
	commit         step = "commit, and release the lease"
	deleteObject   step = "delete an object that is no longer named"
)

var steps = []step{readDocument, createDocument, fetchRows, takeLease, deliver, writeLetter, writeParked, writeMemory,
	commit, deleteObject}

// way is a way for a call to fail: whether it has its effect, and whether its caller lives to hear of it.
type way struct {
	name    string
	done    bool // the call has its effect at once …
	later   bool // … or after its caller was told that it failed
	crashed bool // the process dies in the middle of it: no later call of it has an effect
}

var ways = []way{
	{name: "fails, not done"},
	{name: "fails, but done", done: true},
	{name: "fails, done later", later: true},
	{name: "crash, not done", crashed: true},
	{name: "crash, done", crashed: true, done: true},
	{name: "crash, done later", crashed: true, later: true},
}

// possible are the ways in which a step can fail: a read has no effect.
func possible(s step) []way {
	return slices.DeleteFunc(slices.Clone(ways), func(w way) bool {
		return (s == readDocument || s == fetchRows) && (w.done || w.later)
	})
}

// inWords names ways of failing: a kind alone where it is all of that kind.
func inWords(which, all []way) string {
	var words []string
	for _, kind := range []string{"fails", "crash"} {
		of := func(list []way) (names []string) {
			for _, w := range list {
				if rest, ok := strings.CutPrefix(w.name, kind+", "); ok {
					names = append(names, rest)
				}
			}
			return names
		}
		switch some := of(which); {
		case len(some) == len(of(all)):
			words = append(words, kind)
		case len(some) > 0:
			words = append(words, kind+", "+strings.Join(some, " or "))
		}
	}
	return strings.Join(words, "; ")
}

// TestFailuresTable: every step × every way to fail × what the next owner does, as docs/failures.md shows it. Whatever
// fails, nothing is lost.
func TestFailuresTable(t *testing.T) {
	var seen []string           // what happened, in the order of the steps
	by := map[string][]string{} // the steps in which it did, and the ways
	for _, s := range steps {
		ways := possible(s)
		in := map[string][]way{}
		for _, w := range ways {
			var what string
			synctest.Test(t, func(t *testing.T) { what = happen(t, s, w) })
			in[what] = append(in[what], w)
			if !slices.Contains(seen, what) {
				seen = append(seen, what)
			}
		}
		for what, which := range in {
			by[what] = append(by[what], fmt.Sprintf("%s (%s)", s, inWords(which, ways)))
		}
	}
	slices.SortStableFunc(seen, func(a, b string) int { return len(by[b]) - len(by[a]) })
	var table strings.Builder
	table.WriteString("| the tick ends as | the next owner works | delivered again | step |\n|---|---|---|---|\n")
	for _, what := range seen {
		fmt.Fprintf(&table, "| %s | %s |\n", what, strings.Join(by[what], "; "))
	}
	const begin, end = "<!-- begin: TestFailuresTable -->\n", "<!-- end: TestFailuresTable -->"
	text := testfile.Read(t, "failures.md")
	before, rest, ok := strings.Cut(string(text), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("failures.md has no place for the table")
	}
	if shown == table.String() {
		return
	}
	if !*updateFailures {
		t.Fatalf("failures.md is not what happens; go test ./docs -run FailuresTable -update-failures. Now:\n%s",
			table.String())
	}
	testfile.Write(t, "failures.md", before+begin+table.String()+end+after)
}

// happen lets one step fail in one way, lets the next owner work until all is settled, and tells what was seen: the
// table's first columns. A row that is lost fails the test.
func happen(t *testing.T, s step, w way) string {
	stage := &stage{store: memstore.New(), step: s, way: w, effects: map[string]int{}, letters: map[string]int{}}
	stage.rows = []string{"a", "b", "c"}
	attempts := 5
	switch s {
	case writeLetter:
		stage.bad, attempts = "b", 1 // the first refusal is the last
	case writeParked, deleteObject:
		stage.bad, attempts = "b", 2
	case writeMemory:
		stage.late = late.Overlap
		for i := range 4096 { // with these the document has no room for it
			stage.rows = append(stage.rows, fmt.Sprint("row ", i))
		}
	}
	if s != createDocument {
		stage.seed(t)
	}
	first := stage.instance(t, true, attempts)
	if s == deleteObject {
		// The first tick parks; the object that it wrote is replaced when the event is given up.
		stage.armed = false
		first.Tick(t.Context())
		time.Sleep(5 * time.Second)
		stage.armed = true
	}
	ended := "–"
	if w.crashed {
		go first.Tick(t.Context()) // what it does from the crash on has no effect
		synctest.Wait()
	} else {
		report := first.Tick(t.Context())
		ended = string(report.Event)
	}
	if !stage.hit {
		t.Fatalf("%s (%s) was not reached", s, w.name)
	}
	died := time.Now()
	next := stage.instance(t, false, attempts)
	works := "there is nothing left to do"
	for tries := 0; ; tries++ {
		if tries == 600 {
			t.Fatalf("%s (%s): not settled after ten minutes: %v", s, w.name, stage.effects)
		}
		r := next.Tick(t.Context())
		if r.Token > 0 && stage.pending != nil {
			stage.pending() // what was under way lands after another has worked
			stage.pending = nil
		}
		if r.Token > 0 && works == "there is nothing left to do" {
			works = "at once"
			switch took := time.Since(died).Round(time.Second); {
			case took >= 30*time.Second:
				works = fmt.Sprintf("after %s, when the lease has expired", took)
			case took > 0:
				works = fmt.Sprintf("after %s, when the retry is due", took)
			}
		}
		if stage.settled() && r.Event == poller.FetchEmpty && r.Parked <= 0 {
			break
		}
		time.Sleep(time.Second)
	}
	if stage.pending != nil {
		stage.pending()
	}
	time.Sleep(5 * time.Minute) // what the dead one still has under way comes to its end
	again, lost := []string{}, []string{}
	for _, row := range stage.rows {
		switch n := stage.effects[row]; {
		case n > 1:
			again = append(again, row)
		case n == 0 && stage.letters[row] == 0:
			lost = append(lost, row)
		}
		if stage.letters[row] > 0 && row != stage.bad {
			t.Errorf("%s (%s): row %s was dead-lettered", s, w.name, row)
		}
	}
	if len(lost) > 0 {
		t.Errorf("%s (%s): lost %v", s, w.name, lost)
	}
	if n := stage.letters[stage.bad]; n > 1 {
		again = append(again, fmt.Sprintf("the dead letter (%d writes of one record)", n))
	}
	return fmt.Sprintf("%s | %s | %s", ended, works, orNothing(again, len(stage.rows)))
}

func orNothing(list []string, all int) string {
	switch len(list) {
	case 0:
		return "nothing"
	case all:
		return "all of the batch"
	}
	return strings.Join(list, ", ")
}
