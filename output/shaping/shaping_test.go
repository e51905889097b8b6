package shaping_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/shaping"
)

const customer = `{"id":7,"email":"ada@example.com","Total":"19.90","card":"4111 1111 1111 1234","note":null,"a-b":true}`

func row(text string) change.Event {
	key := []byte(`{"id":7}`)
	return change.Event{ID: "e1", Key: key, OrderKey: key, Row: []byte(text),
		Cursor: change.Cursor(`{"kind":"integer","value":1}`), Time: time.Date(2026, 4, 7, 1, 23, 45, 0, time.UTC)}
}

func outboxed(payload string) change.Event {
	e := row(`{"seq":1,"event_type":"Paid","payload":` + payload + `,"created_at":null}`)
	e.Outbox = &change.Outbox{EventType: "Paid", Payload: []byte(payload), JSON: true}
	return e
}

// shaped is what an event becomes, with the rules that a test sets.
func shaped(t *testing.T, rules shaping.Rules, e change.Event) (change.Event, error) {
	t.Helper()
	if rules.MaxBytes == 0 {
		rules.MaxBytes = 4 << 20
	}
	s, err := shaping.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	before := string(e.Row)
	got, err := s.Shape(&e)
	if string(e.Row) != before || e.Broken != nil {
		t.Errorf("the event itself became %s", e.Row)
	}
	return got, err
}

func TestColumns(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules shaping.Rules
		want  string
	}{
		{"include, in the table's order", shaping.Rules{Columns: []string{"Total", "id"}}, `{"id":7,"Total":"19.90"}`},
		{"without case", shaping.Rules{Columns: []string{"total"}}, `{"Total":"19.90"}`},
		{"exclude", shaping.Rules{Columns: []string{"-card", "- email", "-a-b"}}, `{"id":7,"Total":"19.90","note":null}`},
		{"rename", shaping.Rules{Columns: []string{"total as amount", "*", "-card", "-a-b", "-note"}},
			`{"id":7,"email":"ada@example.com","amount":"19.90"}`},
		{"swap", shaping.Rules{Columns: []string{"id as email", "email as id"}}, `{"email":7,"id":"ada@example.com"}`},
		{"masks", shaping.Rules{Columns: []string{"email", "card", "note", "a-b"},
			Masks: map[string]string{"email": "redact", "card": "last4", "note": "hash", "a_b": "last4"}},
			`{"email":"***","card":"***1234","note":null,"a-b":"***"}`},
		{"a column that is masked and not sent", shaping.Rules{Columns: []string{"id"},
			Masks: map[string]string{"card": "hash"}},
			`{"id":7}`},
		{"constants", shaping.Rules{Columns: []string{"id"}, Constants: map[string]string{"region": `eu "1"`, "app": "shop"}},
			`{"id":7,"app":"shop","region":"eu \"1\""}`},
	} {
		got, err := shaped(t, c.rules, row(customer))
		if string(got.Row) != c.want || err != nil || got.Unsent() || string(got.Key) != `{"id":7}` || got.ID != "e1" {
			t.Errorf("%s: %s, %v\nwant %s", c.name, got.Row, err, c.want)
		}
	}
}

// TestHash: equal values have equal hashes, under one secret only, and nothing of the value is in them.
// TestBefore: rules are about the row before a change, too; a program is given it, and decides about both.
func TestBefore(t *testing.T) {
	rules := shaping.Rules{Columns: []string{"id", "email as mail"}, Masks: map[string]string{"email": "redact"}}
	program := shaping.Rules{JQ: "{was: .before.Total, is: .row.Total}"}
	for _, c := range []struct {
		rules     shaping.Rules
		before    string
		row, sent string
	}{
		{rules, strings.Replace(customer, "19.90", "7", 1), `{"id":7,"mail":"***"}`, `{"id":7,"mail":"***"}`},
		{rules, "null", `{"id":7,"mail":"***"}`, "null"},
		{program, strings.Replace(customer, "19.90", "7", 1), `{"is":"19.90","was":"7"}`, ""},
		{program, "null", `{"is":"19.90","was":null}`, ""},
	} {
		e := row(customer)
		e.Before = []byte(c.before)
		got, err := shaped(t, c.rules, e)
		if err != nil || string(got.Row) != c.row || string(got.Before) != c.sent || string(e.Before) != c.before {
			t.Errorf("%v: %s before %s, %v", c.rules, got.Row, got.Before, err)
		}
	}
}

func TestHash(t *testing.T) {
	hash := func(value, secret string) string {
		e, err := shaped(t, shaping.Rules{Columns: []string{"email"}, Masks: map[string]string{"email": "hash"},
			Secret: secret},
			row(`{"id":7,"email":`+value+`}`))
		if err != nil {
			t.Fatal(err)
		}
		return string(e.Row)
	}
	a := hash(`"ada@example.com"`, "s")
	if a != hash(`"ada@example.com"`, "s") || a == hash(`"bob@example.com"`, "s") || a == hash(`"ada@example.com"`, "") ||
		hash("12", "s") != hash(`"12"`, "s") || len(a) != len(`{"email":""}`)+32 {
		t.Error(a)
	}
}

// TestRulesThatDoNotFitTheRow end the tick: what is not masked, because its name is spelt wrongly, must not be sent.
func TestRulesThatDoNotFitTheRow(t *testing.T) {
	mask := func(column string) shaping.Rules { return shaping.Rules{Masks: map[string]string{column: "redact"}} }
	cursor := mask("note")
	cursor.Cursor = []string{"Note"}
	e := row(customer)
	e.OrderKey = []byte(`{"email":"ada@example.com"}`)
	for name, c := range map[string]struct {
		rules shaping.Rules
		word  string
	}{
		"a mask of no column":     {mask("emial"), "output__mask__emial"},
		"of the key":              {mask("id"), "id is a column of the key"},
		"of the order key":        {mask("email"), "email is a column of the key"},
		"of the cursor":           {cursor, "note is a column of the key"},
		"a list with no column":   {shaping.Rules{Columns: []string{"nobody"}}, "no column nobody"},
		"two of one name":         {shaping.Rules{Columns: []string{"*", "card as note"}}, "would be called note"},
		"a constant and a column": {shaping.Rules{Constants: map[string]string{"note": "x"}}, "would be called note"},
	} {
		got, err := shaped(t, c.rules, e)
		if !errors.Is(err, change.ErrConfig) || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v, %s", name, err, got.Row)
		}
	}
	e = row(`{"id":7}`) // of a delete only the key may be known
	e.Op = change.Delete
	if got, err := shaped(t, mask("email"), e); err != nil || string(got.Row) != `{"id":7}` {
		t.Errorf("a delete: %s, %v", got.Row, err)
	}
	e = row(customer) // a soft delete has its row
	e.Op = change.Delete
	if got, err := shaped(t, mask("emial"), e); !errors.Is(err, change.ErrConfig) {
		t.Errorf("a delete with its row: %s, %v", got.Row, err)
	}
}

func TestRulesAtFault(t *testing.T) {
	for name, c := range map[string]struct {
		rules shaping.Rules
		text  string
	}{
		"twice":          {shaping.Rules{Columns: []string{"a", "-A"}}, "output__columns: names A twice"},
		"nothing":        {shaping.Rules{Columns: []string{"-"}}, "output__columns: - has no column"},
		"no program":     {shaping.Rules{JQ: ".row |"}, "output__jq: is no jq program"},
		"unknown":        {shaping.Rules{JQ: "nobody(1)"}, "output__jq: cannot be compiled: function not defined: nobody/1"},
		"the clock":      {shaping.Rules{JQ: ".row + {at: (now | todate)}"}, "output__jq: calls now"},
		"its zone":       {shaping.Rules{JQ: "if .op then [.row.at | localtime] else . end"}, "calls localtime"},
		"environment":    {shaping.Rules{JQ: `.row | "\($ENV.SECRET)"`}, "calls $ENV"},
		"in a function":  {shaping.Rules{JQ: "def f: env; .row | f"}, "calls env"},
		"an end":         {shaping.Rules{JQ: "try halt catch 1"}, "calls halt"},
		"another file":   {shaping.Rules{JQ: `import "a" as a; a::f`}, "output__jq: cannot be compiled"},
		"more than one":  {shaping.Rules{JQ: `reduce input as $x (0; .)`}, "calls input"},
		"index of a key": {shaping.Rules{JQ: `.row[(now|tostring)]`}, "calls now"},
	} {
		if _, err := shaping.New(c.rules); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s, err := shaping.New(shaping.Rules{MaxBytes: 1}); s != nil || err != nil {
		t.Errorf("no rules: %v, %v", s, err)
	}
}

func TestProgram(t *testing.T) {
	for _, c := range []struct {
		jq, row, want string
	}{
		{".", customer, `{"id":"e1","key":{"id":7},"op":"upsert","row":` +
			`{"Total":"19.90","a-b":true,"card":"4111 1111 1111 1234","email":"ada@example.com","id":7,"note":null},` +
			`"time":"2026-04-07T01:23:45Z"}`},
		{".row.email", customer, `"ada@example.com"`},
		{"select(.row.id > 6) | .row.id", customer, "7"},
		{"select(.row.id > 7)", customer, ""},
		{"empty", customer, ""},
		{".row.note", customer, "null"},
		// digit by digit
		{".row", `{"n":123456789012345678901234567890,"d":1.10,"e":1E+15,"z":-0.0,"x":1e-400}`,
			`{"d":1.10,"e":1E+15,"n":123456789012345678901234567890,"x":1e-400,"z":-0.0}`},
		{".row | map_values(tonumber)", `{"a":"12345678901234567890.123456789000","b":"9223372036854775808","c":"1.50"}`,
			`{"a":12345678901234567890.123456789000,"b":9223372036854775808,"c":1.50}`},
		{"[.row[] | tostring]", `{"a":1.50,"b":9007199254740993}`, `["1.50","9007199254740993"]`},
		{".row.b + 1", `{"b":9007199254740993}`, "9007199254740994"},
		{`.row.a | try tonumber catch "no"`, `{"a":"01"}`, "1"},
		{`.row.a | try tonumber catch "no"`, `{"a":"x"}`, `"no"`},
		{"def tonumber: 5; .row.a | tonumber", `{"a":"1"}`, "5"},
	} {
		got, err := shaped(t, shaping.Rules{JQ: c.jq}, row(c.row))
		switch {
		case err != nil || got.Broken != nil:
			t.Errorf("%s: %v, %v", c.jq, err, got.Broken)
		case c.want == "" && !got.Aside, c.want != "" && (got.Aside || string(got.Row) != c.want):
			t.Errorf("%s: %s, filtered %t\nwant %s", c.jq, got.Row, got.Aside, c.want)
		}
	}
}

// TestProgramAfterTheRules: the program sees the row as it would be sent without it.
func TestProgramAfterTheRules(t *testing.T) {
	got, err := shaped(t, shaping.Rules{JQ: ".row", Columns: []string{"card", "id as number"},
		Masks: map[string]string{"card": "last4"}, Constants: map[string]string{"region": "eu"}}, row(customer))
	if want := `{"card":"***1234","number":7,"region":"eu"}`; string(got.Row) != want || err != nil {
		t.Errorf("%s, %v", got.Row, err)
	}
}

// TestProgramThatFails: that is said of the event, and no part of the row is in the text.
func TestProgramThatFails(t *testing.T) {
	for jq, text := range map[string]string{
		".row.email + 1":                                "cannot add: string …",
		".row.email[]":                                  "cannot iterate over: string …",
		".row[.row.email] | .x.y | error":               "the program called error",
		`error("no \(.row.id)")`:                        "no 7",
		".row.email | fromjson":                         "fromjson cannot be applied to …",
		`.row.email | test("(")`:                        "…",
		"{(.row.id): 1}":                                "expected a string for object key but got: number …",
		".row.id, .row.id":                              "more than one value",
		"def f: f; f":                                   "1000000 steps",
		"[repeat(1)]":                                   "1000000 steps",
		"[range(infinite)]":                             "1000000 steps",
		`reduce range(100) as $i ("aa"; .+.)`:           "256 MiB",
		`[range(200000) as $i | .row | tojson | .*900]`: "256 MiB",
		`reduce range(60) as $i (.row; [., .])`:         "larger than max_row_bytes",
		`reduce range(5000) as $i (.row; [.])`:          "nested too deeply",
		`[limit(3000; repeat(.row))] | map({a: .}) | .`: "larger than max_row_bytes",
	} {
		got, err := shaped(t, shaping.Rules{JQ: jq, MaxBytes: 100_000}, row(customer))
		switch {
		case err != nil || got.Broken == nil:
			t.Errorf("%s: %v, %.80s", jq, err, got.Row)
		case !strings.Contains(got.Broken.Error(), text) || strings.Contains(got.Broken.Error(), "ada"):
			t.Errorf("%s: %v\nwant %s", jq, got.Broken, text)
		}
	}
}

// TestOutbox: of an outbox's event the payload is shaped, for formats that send it and for those that send a row.
func TestOutbox(t *testing.T) {
	rules := shaping.Rules{Columns: []string{"-card"}, Masks: map[string]string{"email": "redact"}}
	for _, c := range []struct {
		rules         shaping.Rules
		payload, want string
	}{
		{rules, `{ "email": "a@b", "card": "4", "n": 1.50 }`, `{"email":"***","n":1.50}`},
		{rules, `{"other":1}`, `{"other":1}`},
		{shaping.Rules{JQ: `.event.payload + {type: .event.event_type}`}, `{"n":1.50}`, `{"n":1.50,"type":"Paid"}`},
		{shaping.Rules{JQ: `.event.payload.n`}, `{"n":12345678901234567890}`, `12345678901234567890`},
		{shaping.Rules{JQ: `keys`}, `{}`, `["event","id","key","op"]`},
	} {
		e := outboxed(c.payload)
		got, err := shaped(t, c.rules, e)
		if err != nil || got.Broken != nil || string(got.Outbox.Payload) != c.want || !got.Outbox.JSON ||
			string(got.Row) != `{"seq":1,"event_type":"Paid","payload":`+c.want+`,"created_at":null}` ||
			string(e.Outbox.Payload) != c.payload {
			t.Errorf("%s: %v, %v, %s", c.payload, err, got.Broken, got.Row)
		}
	}
	e := outboxed(`"text"`)
	if got, err := shaped(t, rules, e); err != nil || got.Broken == nil {
		t.Errorf("a payload that cannot be masked: %v, %s", err, got.Outbox.Payload)
	}
	e = row(`{"seq":1,"payload":"/w==","payload_encoding":"base64","created_at":null}`)
	e.Outbox = &change.Outbox{Payload: []byte{0xff}}
	got, err := shaped(t, shaping.Rules{JQ: `{bytes: .event.payload}`}, e)
	if want := `{"seq":1,"payload":{"bytes":"/w=="},"created_at":null}`; err != nil || string(got.Row) != want ||
		string(got.Outbox.Payload) != `{"bytes":"/w=="}` {
		t.Errorf("binary: %v, %s", err, got.Row)
	}
}

// TestTriggerForms: the format of the SQL trigger keeps the forms of the columns that are sent, and a program sees
// them.
func TestTriggerForms(t *testing.T) {
	e := row(`{"id":"9223372036854775807","total":"19.90","day":"2026-04-07","f":1}`)
	e.Shape = &change.Shape{Row: []change.Member{{Name: `"id":`, Form: change.Integer}, {Name: `"total":`,
		Form: change.Decimal},
		{Name: `"day":`, Form: change.Date}, {Name: `"f":`, Form: change.Float}}}
	for _, c := range []struct {
		rules shaping.Rules
		want  string
	}{
		{shaping.Rules{Columns: []string{"-total"}}, `{"id":9223372036854775807,"day":"2026-04-07T00:00:00","f":1.0}`},
		{shaping.Rules{Columns: []string{"*", "total as sum"}, Masks: map[string]string{"day": "last4"}},
			`{"id":9223372036854775807,"sum":19.90,"day":"***4-07","f":1.0}`},
		{shaping.Rules{JQ: ".row"}, `{"day":"2026-04-07T00:00:00","f":1.0,"id":9223372036854775807,"total":19.90}`},
	} {
		c.rules.Format = change.SQLTrigger
		got, err := shaped(t, c.rules, e)
		d := &change.Delivery{Events: []change.Event{got}}
		if body := string(change.SQLTrigger.AppendEvent(nil, d, 0)); body != `[{"Operation":1,"Item":`+c.want+`}]` ||
			err != nil {
			t.Errorf("%s, %v\nwant %s", body, err, c.want)
		}
		if bound := change.SQLTrigger.Bound(d, &got); bound < len(c.want) {
			t.Errorf("%s: said to take %d bytes", c.want, bound)
		}
	}
}

// TestLayouts: rows of other members come between those of one table (a delete has its key only).
func TestLayouts(t *testing.T) {
	s, err := shaping.New(shaping.Rules{Columns: []string{"-card", "id as number"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for text, want := range map[string]string{
			customer:               `{"number":7,"email":"ada@example.com","Total":"19.90","note":null,"a-b":true}`,
			`{"id":7}`:             `{"number":7}`,
			`{"id":7,"card":null}`: `{"number":7}`,
			`{"card":null,"id":7}`: `{"number":7}`,
		} {
			e := row(text)
			e.Op = change.Delete
			got, err := s.Shape(&e)
			if string(got.Row) != want || err != nil || !json.Valid(got.Row) {
				t.Errorf("%s: %s, %v", text, got.Row, err)
			}
		}
	}
}
