package deadletter_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
)

var noon = time.Date(2026, 4, 7, 12, 0, 0, 123456789, time.UTC)

// letter is a dead letter whose JSON holds what encoding/json would rewrite.
func letter(id string) poller.DeadLetter {
	return poller.DeadLetter{
		App: "shop", Poller: "orders", Engine: "postgres", Table: "public.orders", Fingerprint: "sha256:00",
		Event: change.Event{
			ID: id, Op: change.Upsert, Key: []byte(`{"id":"<&>"}`), OrderKey: []byte(`{"tenant":9007199254740993}`),
			Row: []byte(`{"id":"<&>","n":1e400,"big":12345678901234567890.10,"u":"` + "\u2028" + `"}`),
			Shape: &change.Shape{Row: []change.Member{{Name: `"id":`}, {Name: `"n":`, Form: change.Float},
				{Name: `"big":`, Form: change.Decimal}, {Name: `"u":`}}, Key: []change.Member{{Name: `"id":`}}},
			Cursor: change.Cursor(`{"kind":"int<","value":7}`), Time: noon, Undated: true,
		},
		Cause: poller.Refused, Status: 422, Reason: "the destination answered 422", Attempts: 5,
		First: noon.Add(-time.Hour), Last: noon.Add(-time.Minute),
	}
}

const golden = `{"version":2,"id":"e1","app":"shop","poller":"orders","output":"","engine":"postgres",` +
	`"table":"public.orders",` +
	`"fingerprint":"sha256:00","key":{"id":"<&>"},"order_key":{"tenant":9007199254740993},` +
	`"cursor":{"kind":"int<","value":7},"op":"upsert",` +
	`"row":{"id":"<&>","n":1e400,"big":12345678901234567890.10,"u":"` + "\u2028" +
	`"},"forms":{"row":{"big":"decimal","n":"float"}},"time":"2026-04-07T12:00:00.123456789Z","undated":true,` +
	`"cause":"refused","status":422,"reason":"the destination answered 422","attempts":5,` +
	`"first_attempt":"2026-04-07T11:00:00.123456789Z","last_attempt":"2026-04-07T11:59:00.123456789Z","written_at":"2026-04-07T12:00:00.123456789Z"}` + "\n"

// TestBefore: the row before a change is part of the record, also where there was none.
func TestBefore(t *testing.T) {
	for _, before := range []string{`{"id":"<&>","n":1}`, "null"} {
		d := letter("e1")
		d.Event.Before = []byte(before)
		data, err := deadletter.New(d, noon).Encode()
		if err != nil {
			t.Fatal(err)
		}
		r, err := deadletter.Decode(data)
		if err != nil || string(r.Event().Before) != before {
			t.Errorf("%s: %v, %s", data, err, r.Event().Before)
		}
	}
}

func TestGolden(t *testing.T) {
	r := deadletter.New(letter("e1"), noon)
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(golden, string(data)); diff != "" {
		t.Error(diff)
	}
	back, err := deadletter.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Error(diff)
	}
	want := letter("e1").Event
	want.Attempts = 5
	if diff := cmp.Diff(want, back.Event(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// TestTheFirstVersion: its records do not say whether their time is that of the fetch, but their cursors do.
func TestTheFirstVersion(t *testing.T) {
	old := strings.NewReplacer(`"version":2`, `"version":1`, `"fingerprint":"sha256:00",`, "",
		`"forms":{"row":{"big":"decimal","n":"float"}},`, "", `"undated":true,`, "").Replace(golden)
	for cursor, undated := range map[string]bool{
		`{"kind":"integer+pk","value":20260407}`:                  true,
		`{"kind":"timestamp+pk","value":1775520000}`:              false,
		`{"kind":"date+pk","value":"2026-04-07"}`:                 false,
		`{"kind":"composite+pk","value":["a",7]}`:                 true,
		`{"kind":"composite+pk","value":[7,"2026-04-07 01:02"]}`:  false,
		`{"kind":"xid8+pk","value":7,"tiebreaker":"2026-04-07T"}`: true,
		"null": true,
	} {
		r, err := deadletter.Decode([]byte(strings.Replace(old, `{"kind":"int<","value":7}`, cursor, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if e := r.Event(); e.Undated != undated || !e.Time.Equal(noon) || e.Shape != nil || r.Fingerprint != "" {
			t.Errorf("%s: %+v", cursor, r)
		}
	}
}

// TestNothingHoldsUp: whatever an event is, it becomes a record that can be read.
func TestNothingHoldsUp(t *testing.T) {
	for name, change := range map[string]func(d *poller.DeadLetter){
		"no row":       func(d *poller.DeadLetter) { d.Event.Row = nil },
		"null row":     func(d *poller.DeadLetter) { d.Event.Row = []byte("null") },
		"broken row":   func(d *poller.DeadLetter) { d.Event.Row = []byte(`{"a":`) },
		"delete":       func(d *poller.DeadLetter) { d.Event.Op = change.Delete },
		"insert":       func(d *poller.DeadLetter) { d.Event.Op = change.Insert },
		"update":       func(d *poller.DeadLetter) { d.Event.Op = change.Update },
		"no cursor":    func(d *poller.DeadLetter) { d.Event.Cursor = nil },
		"no order key": func(d *poller.DeadLetter) { d.Event.OrderKey = nil },
		"broken key":   func(d *poller.DeadLetter) { d.Event.Key = []byte("\xff{") },
		"a far time":   func(d *poller.DeadLetter) { d.Event.Time = time.Date(294276, 1, 1, 0, 0, 0, 0, time.UTC) },
		"no times": func(d *poller.DeadLetter) {
			d.First, d.Last, d.Event.Time = time.Time{}, time.Time{}, time.Time{}
		},
		"an odd reason":   func(d *poller.DeadLetter) { d.Reason = "\xff\x00\u2028<\"" },
		"impossible":      func(d *poller.DeadLetter) { d.Cause, d.Status, d.Attempts = poller.Impossible, 0, 0 },
		"negative status": func(d *poller.DeadLetter) { d.Status = -1 },
		"another zone":    func(d *poller.DeadLetter) { d.First = d.First.In(time.FixedZone("", 7200)) },
	} {
		t.Run(name, func(t *testing.T) {
			d := letter("e1")
			change(&d)
			r := deadletter.New(d, noon)
			data, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}
			back, err := deadletter.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if back.ID != "e1" || back.Cause != d.Cause || back.Op != d.Event.Op || (back.Row == nil) != (r.Row == nil) {
				t.Errorf("%+v", back)
			}
		})
	}
}

func TestDecodeFaults(t *testing.T) {
	for name, c := range map[string][3]string{
		"truncated":      {golden[100:], "", ""},
		"version":        {`"version":2`, `"version":3`, "use the one that wrote it"},
		"a form":         {`"decimal"`, `"money"`, `the form of "big" is "money"`},
		"no version":     {`"version":2,`, ``, "version 0"},
		"unknown member": {`"app"`, `"application"`, "application"},
		"no id":          {`"id":"e1"`, `"id":""`, "id or poller is missing"},
		"no key":         {`{"id":"<&>"},"order`, `null,"order`, "key or order_key"},
		"no row": {`"row":{"id":"<&>","n":1e400,"big":12345678901234567890.10,"u":"` + "\u2028" + `"},`, ``,
			"row is missing"},
		"op":             {`"upsert"`, `"merge"`, `op is "merge"`},
		"cause":          {`"refused"`, `"bad"`, `cause is "bad"`},
		"cursor":         {`"kind"`, `"kin"`, "not a cursor"},
		"attempts":       {`"attempts":5`, `"attempts":-5`, "negative"},
		"fraction":       {`"attempts":5`, `"attempts":5.5`, "attempts"},
		"time":           {`"written_at":"2026`, `"written_at":"soon`, "soon"},
		"something more": {"\n", "{}", ""},
		"binary":         {"shop", "\xff", "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(golden, c[0], c[1], 1)
			_, err := deadletter.Decode([]byte(text))
			if !errors.Is(err, deadletter.ErrRecord) || !strings.Contains(err.Error(), c[2]) {
				t.Errorf("got %v, want %q", err, c[2])
			}
		})
	}
}

// FuzzDecode: whatever is accepted can be written, and comes back the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(strings.Replace(golden, `"version":2`, `"version":1`, 1)))
	f.Add([]byte(strings.Replace(golden, `"row":{`, `"payload_ref":"x","row":{`, 1)))
	f.Add([]byte(strings.Replace(golden, `{"kind":"int<","value":7}`, `null`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := deadletter.Decode(data)
		if err != nil {
			if !errors.Is(err, deadletter.ErrRecord) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		first, err := r.Encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := deadletter.Decode(first)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first)
		}
		second, err := again.Encode()
		if err != nil || !bytes.Equal(first, second) || !json.Valid(first) {
			t.Fatalf("a rewrite changes it (%v):\n%s\n%s", err, first, second)
		}
	})
}
