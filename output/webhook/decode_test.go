package webhook

import (
	"bytes"
	"encoding/json"
	"testing"

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
		indices, err := failedItems(body, events)
		if err != nil && len(indices) > 0 {
			t.Errorf("both indices and an error: %v, %v", indices, err)
		}
		if err == nil && len(bytes.TrimSpace(body)) > 0 && !json.Valid(body) {
			t.Errorf("malformed JSON accepts events: %q", body)
		}
		for _, i := range indices {
			if i < 0 || i >= len(events) {
				t.Errorf("index %d", i)
			}
		}
	})
}
