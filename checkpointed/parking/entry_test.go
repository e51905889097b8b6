package parking

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

func TestObject(t *testing.T) {
	cursor := change.Cursor(`{"kind":"value","value":7}`)
	now := time.Date(2026, 4, 7, 1, 23, 46, 123456789, time.UTC)
	entries := []Entry{
		{OrderKey: []byte(`{"tenant":"<a> & \u2028"}`), Key: []byte(`{"id":1}`), Cursor: cursor, ID: "x", Attempts: 2,
			First: now,
			Last:  now.Add(time.Second), Next: now.Add(time.Minute), Cause: "refused", Status: 422,
			Reason:    "no \"such\" <thing>",
			Followers: []json.RawMessage{[]byte(`{"id":2}`), []byte(`{"id":3}`)}},
		{OrderKey: []byte(`{"tenant":"b"}`), Key: []byte(`{"id":9}`), Next: now},
		{OrderKey: []byte(`[]`), Key: []byte(`{"id":10}`), Cursor: cursor, ID: "y", Attempts: 5, Blocked: true},
	}
	data, err := Encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil || !reflect.DeepEqual(got, entries) {
		t.Errorf("%v: %+v, want %+v", err, got, entries)
	}
	for name, bad := range map[string]string{
		"empty":             ``,
		"another version":   `{"version":2,"entries":[]}`,
		"no version":        `{"entries":[]}`,
		"unknown member":    `{"version":1,"entries":[],"more":1}`,
		"trailing":          `{"version":1,"entries":[]}{}`,
		"no key":            `{"version":1,"entries":[{"order_key":1,"cursor":null,"id":"","attempts":0}]}`,
		"attempts, no id":   `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":null,"id":"","attempts":1}]}`,
		"below zero":        `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":null,"id":"","attempts":-1}]}`,
		"twice":             `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":null,"id":"","attempts":0},{"order_key":1,"key":2,"cursor":null,"id":"","attempts":0}]}`,
		"null follower":     `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":null,"id":"","attempts":0,"followers":[null]}]}`,
		"cursor of no kind": `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":{},"id":"","attempts":0}]}`,
	} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"entries":[{"order_key":{"t":1},"key":{"id":1},"cursor":{"kind":"a"},"id":"x","attempts":1,"first":"2026-01-01T00:00:00Z","followers":[{"id":2}]}]}`))
	f.Add([]byte(`{"version":1,"entries":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(entries)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(again); err != nil ||
			!reflect.DeepEqual(newTable(got, "").list(), newTable(entries, "").list()) {
			t.Errorf("%v: %s", err, again)
		}
	})
}
