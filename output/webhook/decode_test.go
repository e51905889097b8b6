package webhook

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
)

// Whatever a receiver answers: indices are those of events that were sent, and JSON that is not valid accepts nothing.
func FuzzFailedItems(f *testing.F) {
	for _, s := range []string{
		``, `null`, `{}`, `[]`, `{"batchItemFailures":[]}`,
		`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"1"}]}`,
		`{"batchItemFailures":[{"itemIdentifier":2}]}`, `{"batchItemFailures":[{"itemIdentifier":"3"}]}`,
		`{"batchItemFailures":[{}]}`, `{"batchItemFailures":1}`,
		`{"BATCHITEMFAILURES":[{"ITEMIDENTIFIER":"\u0061"}]}`, `{"batchItemFailures":[{"itemIdentifier":1e0}]}`, "\ufeff{}",
	} {
		f.Add([]byte(s))
	}
	events := []change.Event{{ID: "a"}, {ID: "b"}, {ID: "0"}}
	f.Fuzz(func(t *testing.T, body []byte) {
		failed, err := failedItems(body, events)
		if err != nil && len(failed) > 0 {
			t.Errorf("both indices and an error: %v, %v", failed, err)
		}
		text := bytes.TrimPrefix(body, []byte("\ufeff"))
		if err == nil && len(bytes.TrimSpace(text)) > 0 && !json.Valid(text) {
			t.Errorf("malformed JSON accepts events: %q", body)
		}
		for i := range failed {
			if i < 0 || i >= len(events) {
				t.Errorf("index %d", i)
			}
		}
	})
}

// A name that is one event's id and another's index counts for both, unless other names of the answer show which is
// meant: an event that was not meant comes once more, and none is taken for accepted that was not.
func TestANameOfTwoEvents(t *testing.T) {
	events := []change.Event{{ID: "1"}, {ID: "2"}, {ID: "3"}, {ID: "x"}, {ID: "4"}}
	for names, want := range map[string]map[int]bool{
		`"1"`:             {0: false, 1: false},
		`1`:               {0: false, 1: false},
		`"1","1"`:         {0: false, 1: false},
		`"0"`:             {0: true},
		`"x"`:             {3: true},
		`"4"`:             {4: true}, // both of the same event
		`"1","x"`:         {0: true, 3: true},
		`"1","0"`:         {0: true, 1: true},
		`"2","x","0"`:     {1: false, 2: false, 3: true, 0: true},
		`"1","2"`:         {0: false, 1: false, 2: false},
		`"x","1","1","2"`: {0: true, 1: true, 3: true},
	} {
		var items []string
		for name := range strings.SplitSeq(names, ",") {
			items = append(items, `{"itemIdentifier":`+name+`}`)
		}
		got, err := failedItems([]byte(`{"batchItemFailures":[`+strings.Join(items, ",")+`]}`), events)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", names, err, diff)
		}
	}
}
