package production

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/printing"
)

// sample is a report with every way in which an answer is shown.
func sample() *Report {
	long := strings.Repeat("word ", 30) + "end"
	return &Report{
		App: "shop",
		Items: []Judged{
			{ID: "short", Group: "One", Answers: []Answer{{Verdict: OK, Seen: "seen & told"}}},
			{ID: "longest", Group: "One", Answers: []Answer{
				{Of: "a", Verdict: ToMend, Seen: "wrong", Mend: "mend it"}, {Of: "b", Verdict: NoMatter, Seen: "nothing there"},
			}},
			{ID: "meant", Group: "Two", Answers: []Answer{{Verdict: ToMend, Seen: "so", Mend: "not shown", Accepted: true}}},
			{ID: "dark", Group: "Two", Answers: []Answer{{Verdict: CannotTell, Seen: long, Mend: "look"}}},
		},
		Counts: map[string]int{"ok": 1, "to mend": 1, "does not apply": 1, "cannot tell": 1, "accepted": 1},
	}
}

func TestWriteText(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const indent = "\n                     "
	want := `Production checklist of shop (docs/production.md)

One
  ok        short    seen & told
  TO MEND   longest  a: wrong
                     → mend it
  -         longest  b: nothing there

Two
  accepted  meant    so
  ?         dark     ` + strings.TrimRight(strings.Repeat("word ", 22), " ") + indent + strings.Repeat("word ", 8) + `end
                     → look

1 ok, 1 to mend, 1 cannot be told from here, 1 do not apply, 1 accepted
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if err := sample().WriteText(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("a pipe that is closed: %v", err)
	}
}

// TestJSON: machines read what was found back, under the names that they know.
func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := printing.JSON(&b, sample()); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), &got); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{`"app": "shop"`, `"seen": "seen & told"`, `"verdict": "to mend"`, `"of": "a"`,
		`"mend": "mend it"`, `"accepted": true`, `"group": "One"`, `"id": "dark"`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %s in %s", part, b.String())
		}
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
