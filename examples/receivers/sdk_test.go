package receivers

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/webhook"
)

// TestSDKsReadOneEvent: what CloudEvents' own SDKs read by their functions for one event is the same in the structured
// and in the binary mode of output__batch=1. An array of one they refuse, which docs/formats.md says.
func TestSDKsReadOneEvent(t *testing.T) {
	tools := tools(t)
	for name, args := range map[string][]string{
		"Python": {filepath.Join(tools, "venv/bin/python"), "testdata/sdk.py"}, "JavaScript": {"node", "testdata/sdk.js"},
	} {
		t.Run(name, func(t *testing.T) {
			address, lines := start(t, args, "NODE_PATH="+filepath.Join(tools, "node_modules"))
			e := event(1, 7, `{"id":1,"text":"ä \"100%\""}`)
			e.Key = []byte(`{"code":"Ä-17 \"東京\" 5%"}`)
			said := func(format change.Format, single bool) map[string]any {
				t.Helper()
				o, err := webhook.New(webhook.Config{URL: address, Format: format, Single: single})
				if err != nil {
					t.Fatal(err)
				}
				deliver(t, o, delivery(1, 1, e))
				if err := o.Close(); err != nil {
					t.Error(err)
				}
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				var got map[string]any
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				return got
			}
			structured, binary := said(change.CloudEvents, true), said(change.CloudEventsBinary, true)
			if structured["id"] != e.ID || structured["subject"] != `Ä-17 "東京" 5%` ||
				!cmp.Equal(structured["data"], any(map[string]any{"id": 1.0, "text": `ä "100%"`})) {
				t.Errorf("structured: %v", structured)
			}
			if name == "JavaScript" { // whose SDK 10.0.0 leaves the headers percent-encoded, against the binding's 3.1.3.2
				for attribute, value := range binary {
					if text, ok := value.(string); ok {
						binary[attribute], _ = url.PathUnescape(text)
					}
				}
			}
			if diff := cmp.Diff(structured, binary); diff != "" {
				t.Errorf("binary mode (-structured +binary):\n%s", diff)
			}
			// An array is refused, or is no event.
			if batch := said(change.CloudEvents, false); batch["error"] == nil {
				t.Errorf("an array of one: %v", batch)
			}
		})
	}
}
