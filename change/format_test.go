package change_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/golden"
)

var formats = []change.Format{change.CloudEvents, change.RowChange, change.SQLTrigger, change.Row, change.Payload}

// delivery is a delivery of the orders poller with the given events.
func delivery(events ...change.Event) *change.Delivery {
	return &change.Delivery{
		App: "shop", Poller: "orders", Engine: "sqlserver", Table: "dbo.Orders",
		Fingerprint: "sha256:6f1e0c", BatchID: "batch_20260407_012346_0001",
		Token: 42, Number: 7, Attempt: 1, Events: events,
	}
}

func event(op change.Op, key, row, cursor string) change.Event {
	e := change.Event{
		Op: op, Key: []byte(key), OrderKey: []byte(key), Row: []byte(row), Cursor: change.Cursor(cursor),
		Time: time.Date(2026, 4, 7, 1, 23, 45, 123456700, time.UTC),
	}
	e.ID = change.EventID("orders", op, e.Key, e.Cursor, e.Row)
	return e
}

// cases are the events of the golden files, in their order.
func cases() []struct {
	name  string
	event change.Event
} {
	list := []struct {
		name  string
		event change.Event
	}{
		{"upsert", event(change.Upsert, `{"id":12093}`,
			`{"id":12093,"customer":"Ada","total":"19.90","note":null,"updated_at":"2026-04-07T01:23:45.1234567Z"}`,
			`{"kind":"timestamp+pk","value":"2026-04-07T01:23:45.1234567Z","tiebreaker":{"id":12093}}`)},
		{"delete", event(change.Delete, `{"id":12094}`, `{"id":12094,"customer":"Bob","is_deleted":true}`,
			`{"kind":"rowversion+pk","value":"0x00000000000007D3","tiebreaker":{"id":12094}}`)},
		{"composite", event(change.Upsert, `{"tenant":"acme","id":7}`, `{"tenant":"acme","id":7,"state":"paid"}`,
			`{"kind":"integer+pk","value":99,"tiebreaker":{"tenant":"acme","id":7}}`)},
		{"unicode", event(change.Upsert, `{"code":"Ä-17 \"東京\""}`,
			`{"code":"Ä-17 \"東京\"","text":"line\nbreak\ttab\\ \u0001 😀"}`,
			`{"kind":"integer+pk","value":100,"tiebreaker":{"code":"Ä-17 \"東京\""}}`)},
		{"numbers", event(change.Upsert, `{"id":"9223372036854775807"}`,
			`{"id":"9223372036854775807","amount":"12345678901234567890.123456789","small":9007199254740991,"data":"AAEC/w==","json":{"n":1.50}}`,
			`{"kind":"integer+pk","value":"9223372036854775807","tiebreaker":{"id":"9223372036854775807"}}`)},
	}
	list[0].event.Shape = &change.Shape{Row: []change.Member{{Name: `"id":`, Form: change.Integer}, {Name: `"customer":`},
		{Name: `"total":`, Form: change.Decimal}}}
	list[4].event.Shape = &change.Shape{Row: []change.Member{{Name: `"id":`, Form: change.Integer},
		{Name: `"amount":`, Form: change.Decimal}}}
	return list
}

func TestFormatsMatchGoldenFiles(t *testing.T) {
	var all []change.Event
	for _, c := range cases() {
		all = append(all, c.event)
	}
	for _, f := range formats {
		for _, c := range outboxCases() {
			line := f.AppendEvent(nil, delivery(c.event), 0)
			if f == change.Payload { // whose single form need not be JSON
				line = f.AppendLine(nil, delivery(c.event), 0)
			}
			pinFormat(t, f, "outbox-"+c.name, line)
			pinFormat(t, f, "outbox-batch-"+c.name, f.AppendBatch(nil, delivery(c.event)))
		}
		for _, c := range cases() {
			pinFormat(t, f, "single-"+c.name, f.AppendEvent(nil, delivery(c.event), 0))
			pinFormat(t, f, "batch-"+c.name, f.AppendBatch(nil, delivery(c.event)))
		}
		pinFormat(t, f, "batch-all", f.AppendBatch(nil, delivery(all...)))
		pinFormat(t, f, "message-upsert", f.AppendMessage(nil, delivery(cases()[0].event), 0))
	}
}

func pinFormat(t *testing.T, f change.Format, name string, got []byte) {
	t.Helper()
	if !json.Valid(got) {
		t.Errorf("%s %s is not JSON: %s", f, name, got)
	}
	golden.File(t, filepath.Join("testdata", "formats", f.String(), name+".json"), string(got)+"\n")
}

func TestParseFormat(t *testing.T) {
	for _, f := range append(slices.Clone(formats), change.CloudEventsBinary) {
		got, err := change.ParseFormat(f.String())
		if err != nil || got != f {
			t.Errorf("ParseFormat(%q) = %v, %v", f.String(), got, err)
		}
	}
	_, err := change.ParseFormat("xml")
	if err == nil || !strings.Contains(err.Error(),
		`"xml": choose one of cloudevents, rowchange, sqltrigger, row, payload, cloudevents_binary`) {
		t.Errorf("error does not list the choices: %v", err)
	}
}

func TestContentTypes(t *testing.T) {
	for _, c := range []struct {
		f             change.Format
		single, batch string
	}{
		{change.CloudEvents, "application/cloudevents+json", "application/cloudevents-batch+json"},
		{change.RowChange, "application/json", "application/json"},
		{change.SQLTrigger, "application/json", "application/json"},
		{change.Row, "application/json", "application/json"},
		{change.Payload, "application/json", "application/json"},
		{change.CloudEventsBinary, "application/json", "application/cloudevents-batch+json"},
	} {
		if s, b := c.f.ContentType(true), c.f.ContentType(false); s != c.single || b != c.batch {
			t.Errorf("%s: %s, %s", c.f, s, b)
		}
	}
}

// A batch is the array of its singles: a receiver may switch between the two without a second parser.
func TestBatchIsArrayOfSingles(t *testing.T) {
	var all []change.Event
	for _, c := range cases() {
		all = append(all, c.event)
	}
	d := delivery(all...)
	for _, f := range formats {
		var want []byte
		for i := range d.Events {
			one := f.AppendEvent(nil, d, i)
			if f == change.SQLTrigger {
				one = bytes.TrimSuffix(bytes.TrimPrefix(one, []byte("[")), []byte("]"))
			}
			want = append(append(want, one...), ',')
		}
		want = append(append([]byte("["), bytes.TrimSuffix(want, []byte(","))...), ']')
		if got := f.AppendBatch(nil, d); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", f, got, want)
		}
	}
}

// What the CloudEvents specification asks of every event: required attributes, names, types and no control characters.
func TestCloudEventsFollowTheSpecification(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]{1,20}$`)
	events := cases()
	for _, key := range []string{`{"id":""}`, `{"id":"a\nb"}`, `{"id":"a\u0001b"}`, "{\"id\":\"a\x7fb\"}",
		"{\"id\":\"a\u0085b\"}", `{"id":null}`, `{"id":{"a":1}}`, `{"a":1,"b":2}`, `{}`, ``} {
		e := event(change.Upsert, key, `{}`, `{"kind":"integer","value":1}`)
		events = append(events, struct {
			name  string
			event change.Event
		}{key, e})
	}
	for _, c := range events {
		d := delivery(c.event)
		d.App = "a b/ä?"
		var got map[string]any
		if err := json.Unmarshal(change.CloudEvents.AppendEvent(nil, d, 0), &got); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for k, v := range got {
			if !name.MatchString(k) {
				t.Errorf("%s: attribute name %q", c.name, k)
			}
			s, isString := v.(string)
			if k != "data" && isString && (s == "" ||
				strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f })) {
				t.Errorf("%s: attribute %s = %q", c.name, k, s)
			}
		}
		if got["source"] != "/a%20b%2F%C3%A4%3F/orders" || got["specversion"] != "1.0" || got["id"] != c.event.ID ||
			got["type"] != "rowrelay.row."+c.event.Op.String() {
			t.Errorf("%s: %v", c.name, got)
		}
		if _, err := time.Parse(time.RFC3339Nano, got["time"].(string)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestCloudEventsSubject(t *testing.T) {
	for key, want := range map[string]any{
		`{"id":12093}`:                   "12093",
		`{"id":-1.5e3}`:                  "-1.5e3",
		`{"id":true}`:                    "true",
		`{"a\"b":"x:,\"y\\"}`:            `x:,"y\`,
		`{"id":"A-17"}`:                  "A-17",
		`{"a":1,"b":2}`:                  `{"a":1,"b":2}`,
		`{"a":"1","b":"2"}`:              `{"a":"1","b":"2"}`,
		`{"id":""}`:                      `{"id":""}`,
		`{"id":"a\nb"}`:                  `{"id":"a\nb"}`,
		`{"id":{"n":1}}`:                 `{"id":{"n":1}}`,
		``:                               nil,
		`{"id":"Ä-17 \"東京\""}`:           `Ä-17 "東京"`,
		`{"id":"9223372036854775807"}`:   "9223372036854775807",
		`{"tenant":"acme","id":7}`:       `{"tenant":"acme","id":7}`,
		`{"tenant":7,"id":"acme, inc."}`: `{"tenant":7,"id":"acme, inc."}`,
	} {
		var got map[string]any
		e := event(change.Upsert, key, `{}`, `{"kind":"x"}`)
		if err := json.Unmarshal(change.CloudEvents.AppendEvent(nil, delivery(e), 0), &got); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if got["subject"] != want {
			t.Errorf("subject of %s = %#v, want %#v", key, got["subject"], want)
		}
	}
}

// An instant that RFC 3339 cannot write is left out: time is optional in CloudEvents.
func TestCloudEventsTimeOutsideRFC3339(t *testing.T) {
	for _, at := range []time.Time{{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(-4712, 1, 1, 0, 0, 0, 0, time.UTC)} {
		e := cases()[0].event
		e.Time = at
		if got := change.CloudEvents.AppendEvent(nil, delivery(e), 0); bytes.Contains(got, []byte(`"time"`)) ||
			!json.Valid(got) {
			t.Errorf("%v: %s", at, got)
		}
	}
	e := cases()[0].event
	e.Undated = true // the time of its fetch, which the next fetch does not repeat
	if got := change.CloudEvents.AppendEvent(nil, delivery(e), 0); bytes.Contains(got, []byte(`"time"`)) {
		t.Errorf("undated: %s", got)
	}
}

// azure-functions-db's {poller_name}:{pk_hash}:{cursor} from the bodies that carry it; output/webhook tests the headers
// of the formats that do not.
func TestSeedKeyFromBody(t *testing.T) {
	for _, c := range cases() {
		d := delivery(c.event)
		want := "orders:" + c.event.KeyHash() + ":" + string(c.event.Cursor.AppendText(nil))
		if back, err := change.ParseCursor(c.event.Cursor.AppendText(nil)); err != nil || !sameJSON(back, c.event.Cursor) {
			t.Errorf("cursor %s became %s (%v)", c.event.Cursor, back, err)
		}

		var ce struct{ RowrelayPoller, RowrelayKeyHash, RowrelayCursor string }
		if err := json.Unmarshal(change.CloudEvents.AppendEvent(nil, d, 0), &ce); err != nil {
			t.Fatal(err)
		}
		if got := ce.RowrelayPoller + ":" + ce.RowrelayKeyHash + ":" + ce.RowrelayCursor; got != want {
			t.Errorf("cloudevents: %s, want %s", got, want)
		}

		var rc struct {
			Cursor   string
			Metadata struct {
				Poller  string
				KeyHash string `json:"key_hash"`
			}
		}
		if err := json.Unmarshal(change.RowChange.AppendEvent(nil, d, 0), &rc); err != nil {
			t.Fatal(err)
		}
		if got := rc.Metadata.Poller + ":" + rc.Metadata.KeyHash + ":" + rc.Cursor; got != want {
			t.Errorf("rowchange: %s, want %s", got, want)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

func TestCursorTextIsASCII(t *testing.T) {
	c := change.Cursor("{\"kind\":\"x\",\"value\":\"\x7f\u00e4\U0001f600\"}")
	want := `{"kind":"x","value":"\u007f\u00e4\ud83d\ude00"}`
	if got := string(c.AppendText(nil)); got != want || !sameJSON([]byte(got), c) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOps: every format that says what happened tells the four apart, and the SQL trigger's numbers are its own.
func TestOps(t *testing.T) {
	for op, want := range map[change.Op]struct {
		name, operation string
	}{
		change.Upsert: {"upsert", `"Operation":1`}, change.Delete: {"delete", `"Operation":2`},
		change.Insert: {"insert", `"Operation":0`}, change.Update: {"update", `"Operation":1`},
	} {
		d := change.Delivery{Events: []change.Event{event(op, `{"id":1}`, `{"id":1}`, `{"kind":"integer","value":1}`)}}
		for format, text := range map[change.Format]string{
			change.CloudEvents: "rowrelay.row." + want.name + `"`, change.RowChange: `"op":"` + want.name + `"`,
			change.SQLTrigger: want.operation,
		} {
			if got := string(format.AppendEvent(nil, &d, 0)); !strings.Contains(got, text) {
				t.Errorf("%v: %s has no %s", format, got, text)
			}
		}
	}
}
