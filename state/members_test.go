package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// full is a document with every member, as this binary writes it: docs/state.md explains each.
const full = `{
  "version": 1,
  "requires": ["late","parked","paused"],
  "poller_name": "orders",
  "source_fingerprint": "sha256:abc",
  "checkpoint": {
    "cursor": {"kind":"int","value":1},
    "last_successful_batch_id": "batch_1",
    "updated_at": null,
    "metadata": {
      "row_count": 0
    }
  },
  "late": {
    "mode": "overlap",
    "frontier": {"kind":"int","value":9},
    "next": {"kind":"int","value":5},
    "since": "2026-04-07T01:23:46.020000Z",
    "clock": "2026-04-07T01:24:46.020000Z",
    "clock_at": "2026-04-07T01:24:47.020000Z",
    "memory": {
      "object": "objects/shop/orders/memory-x",
      "count": 8
    },
    "known": {
      "numbers": "postgres/1/1/5/shop oid 16384",
      "below": "9007199254740993",
      "of": "0123456789abcdef"
    },
    "journal": {
      "pages": ["objects/shop/orders/memory-y","objects/shop/orders/memory-z"],
      "hashes": "AAAAAAAAAAc=",
      "of": "0123456789abcdef"
    }
  },
  "parked": {
    "object": "objects/shop/orders/parked-x",
    "count": 2
  },
  "paused": {
    "at": "2026-04-07T01:23:46.020000Z",
    "until": "2026-04-07T01:24:46.020000Z",
    "by": "ann"
  },
  "backfill": {
    "id": "B",
    "from": null,
    "to": {"kind":"int","value":4},
    "at": {"kind":"int","value":2},
    "per_second": 100,
    "done": "9007199254740993",
    "total": 12,
    "started_at": "2026-04-07T01:23:46.020000Z",
    "by": "ann"
  },
  "skips": [
    {"at":"2026-04-07T01:23:46.020000Z","by":"ann","from":null,"to":{"kind":"int","value":1},"rows":"9007199254740993"},
    {"at":null,"by":"","from":{"kind":"int","value":1},"to":null,"rows":null}
  ],
  "lease": {
    "owner_id": "",
    "fencing_token": 3,
    "lease_id": "L",
    "write_seq": 1,
    "ttl": "1m0s",
    "acquired_at": null,
    "heartbeat_at": null,
    "expires_at": null,
    "previous_lease_id": "K",
    "previous_write_seq": 7
  }
}
`

func fullDocument() state.Document {
	at := time.Date(2026, 4, 7, 1, 23, 46, 20e6, time.UTC)
	return state.Document{
		PollerName: "orders", SourceFingerprint: "sha256:abc", Requires: []string{"late", "parked", "paused"},
		Checkpoint: state.Checkpoint{Cursor: at1, LastBatchID: "batch_1"},
		Late: state.Late{
			Mode: "overlap", Frontier: cursor(9), Next: cursor(5), Since: at, Clock: at.Add(time.Minute),
			ClockAt: at.Add(time.Minute + time.Second),
			Memory:  state.ObjectRef{Object: "objects/shop/orders/memory-x", Count: 8},
			Known:   state.Known{Numbers: "postgres/1/1/5/shop oid 16384", Below: 1<<53 + 1, Of: "0123456789abcdef"},
			Journal: state.Journal{Pages: []string{"objects/shop/orders/memory-y", "objects/shop/orders/memory-z"},
				Hashes: "AAAAAAAAAAc=", Of: "0123456789abcdef"},
		},
		Parked: state.ObjectRef{Object: "objects/shop/orders/parked-x", Count: 2},
		Paused: &state.Paused{At: at, Until: at.Add(time.Minute), By: "ann"},
		Backfill: &state.Backfill{ID: "B", To: cursor(4), At: cursor(2), PerSecond: 100, Done: 1<<53 + 1, Total: 12,
			StartedAt: at, By: "ann"},
		Skips: []state.Skip{{At: at, By: "ann", To: at1, Rows: 1<<53 + 1}, {From: at1, Rows: -1}},
		Lease: state.LeaseRecord{FencingToken: 3, LeaseID: "L", WriteSeq: 1, TTL: time.Minute, PreviousID: "K",
			PreviousSeq: 7},
	}
}

var at1 = cursor(1)

func cursor(n int) change.Cursor { return fmt.Appendf(nil, `{"kind":"int","value":%d}`, n) }

func TestEveryMember(t *testing.T) {
	t.Parallel()
	doc := fullDocument()
	got, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full, string(got)); diff != "" {
		t.Error(diff)
	}
	back, err := state.Decode(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(doc, back, ignoreRest); diff != "" {
		t.Error(diff)
	}
}

// TestTheOnePageOfAnOlderVersion is named like the others, and the document needs it.
func TestTheOnePageOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	older := strings.Replace(full, `"pages": ["objects/shop/orders/memory-y","objects/shop/orders/memory-z"]`,
		`"page": "objects/shop/orders/memory-y"`, 1)
	doc, err := state.Decode([]byte(older))
	if err != nil {
		t.Fatal(err)
	}
	if pages := doc.Late.Journal.Pages; !slices.Equal(pages, []string{"objects/shop/orders/memory-y"}) ||
		!slices.Contains(doc.Objects(), pages[0]) {
		t.Errorf("the pages are %q", pages)
	}
}

// TestUnknownInside: what others wrote inside our objects survives, also where a commit replaces the object.
func TestUnknownInside(t *testing.T) {
	t.Parallel()
	text := full
	var odd []string
	for i, where := range []string{`"mode"`, `"object": "objects/shop/orders/memory-x"`,
		`"object": "objects/shop/orders/parked-x"`, `"at": "2026-04-07T01:23:46.020000Z",
    "until"`, `"id"`, `"at":"2026-04-07T01:23:46.020000Z","by"`} {
		odd = append(odd, fmt.Sprintf(`{ "<&>" :%d, "big": 12345678901234567890.10 }`, i))
		if !strings.Contains(text, where) {
			t.Fatalf("%s is not there", where)
		}
		text = strings.Replace(text, where, `"x": `+odd[i]+`,`+where, 1)
	}
	doc, err := state.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	data, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range odd {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("%s is gone from\n%s", want, data)
		}
	}
	bubble(t, func(f *fixture) {
		_, err := f.mem.Create(f.Context(), key, []byte(text))
		f.must(err)
		l := f.acquire(f.keeper(f.store, ttl))
		f.must(l.Commit(f.Context(), state.Commit{
			From: at1, To: at1, Late: &state.Late{Mode: "overlap", Memory: state.ObjectRef{Object: "objects/y"}},
			Parked:   &state.ObjectRef{Object: "objects/z", Count: 3},
			Backfill: &state.Backfill{ID: "B", At: cursor(3), To: cursor(4)},
		}))
		stored, err := f.mem.Load(f.Context(), key)
		f.must(err)
		for _, want := range append(odd, `"objects/y"`, `"objects/z"`, `"at": {"kind":"int","value":3}`) {
			if !bytes.Contains(stored.Data, []byte(want)) {
				f.Errorf("%s is gone from\n%s", want, stored.Data)
			}
		}
		f.release(l)
	})
}

// TestRequires: it follows the members, and keeps what others asked for.
func TestRequires(t *testing.T) {
	t.Parallel()
	object := state.ObjectRef{Object: "objects/x"}
	for name, c := range map[string]struct {
		doc  state.Document
		want []string
	}{
		"nothing":           {state.Document{}, nil},
		"exact":             {state.Document{Late: state.Late{Mode: "exact"}}, nil},
		"settle":            {state.Document{Late: state.Late{Mode: "settle"}}, nil},
		"exact with memory": {state.Document{Late: state.Late{Mode: "exact", Memory: object}}, []string{"late"}},
		"overlap":           {state.Document{Late: state.Late{Mode: "overlap"}}, []string{"late"}},
		"parked":            {state.Document{Parked: object}, []string{"parked"}},
		"paused":            {state.Document{Paused: &state.Paused{}}, []string{"paused"}},
		"no longer":         {state.Document{Requires: []string{"paused", "late", "ttl", "parked"}}, []string{"ttl"}},
		"backfill":          {state.Document{Backfill: &state.Backfill{ID: "b"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.doc.PollerName = "p"
			data, err := c.doc.Encode()
			if err != nil {
				t.Fatal(err)
			}
			back, err := state.Decode(data)
			if err != nil || !slices.Equal(back.Requires, c.want) {
				t.Errorf("requires %q, %v, want %q", back.Requires, err, c.want)
			}
		})
	}
}

func TestMemberFaults(t *testing.T) {
	t.Parallel()
	with := func(old, new string) string { return strings.Replace(full, old, new, 1) }
	for name, c := range map[string]struct {
		text  string
		fault state.DocumentFault
		says  string
	}{
		"a mode of tomorrow": {with(`"overlap"`, `"psychic"`), state.UnknownRequires, `late.mode is "psychic"`},
		"odd frontier": {with(`"frontier": {"kind"`, `"frontier": {"kin"`), state.Malformed,
			"late.frontier: not a cursor"},
		"odd since":           {with(`"since": "2026`, `"since": "soon`), state.Malformed, "late.since"},
		"memory is text":      {with(`"count": 8`, `"count": "many"`), state.Malformed, "late.memory.count"},
		"late is a list":      {with("\"late\": {", "\"late\": [], \"x\": {"), state.Malformed, "late: not an object"},
		"negative parked":     {with(`"count": 2`, `"count": -2`), state.Malformed, "parked.count"},
		"paused at":           {with("\"at\": \"2026-04", "\"at\": \"soon"), state.Malformed, "paused.at"},
		"paused until":        {with("\"until\": \"2026-04", "\"until\": \"soon"), state.Malformed, "paused.until"},
		"backfill without id": {with(`"id": "B"`, `"id": ""`), state.Malformed, "backfill.id is empty"},
		"backfill without end": {with(`"to": {"kind":"int","value":4}`, `"too": 1`), state.Malformed,
			"backfill.to is missing"},
		"skips is an object": {with(`"skips": [`, `"skips": {}, "x": [`), state.Malformed, "skips: not an array"},
		"a skip to nowhere": {with(`"to":{"kind":"int","value":1}`, `"x":1`), state.Malformed,
			"skips[0].to is missing"},
		"skipped rows":  {with(`"rows":null`, `"rows":-1`), state.Malformed, "skips[1].rows"},
		"twice in late": {with(`"mode"`, `"mode": "exact", "mode"`), state.Malformed, "twice"},
		"previous write seq": {with(`"previous_write_seq": 7`, `"previous_write_seq": 7.5`), state.Malformed,
			"lease.previous_write_seq"},
		"requires what is to come": {with(`["late"`, `["late","claims"`), state.UnknownRequires, `"claims"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := state.Decode([]byte(c.text))
			var fault *state.DocumentError
			if !errors.As(err, &fault) || fault.Fault != c.fault || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %s saying %q", err, c.fault, c.says)
			}
		})
	}
}

// TestSkipsGiveWay: the last MaxSkips are kept, and fewer where the document would be too large with them.
func TestSkipsGiveWay(t *testing.T) {
	t.Parallel()
	doc := state.Document{PollerName: "p"}
	skips := func(n, size int) int {
		t.Helper()
		doc.Skips = nil
		for i := range n {
			doc.Skips = append(doc.Skips, state.Skip{By: strings.Repeat("x", size), Rows: int64(i)})
		}
		data, err := doc.Encode()
		if err != nil || len(data) > state.MaxDocument {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		back, err := state.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if last := back.Skips[len(back.Skips)-1]; last.Rows != int64(n-1) {
			t.Errorf("the last is %d of %d", last.Rows, n)
		}
		return len(back.Skips)
	}
	if n := skips(3*state.MaxSkips, 1); n != state.MaxSkips {
		t.Errorf("%d skips are remembered", n)
	}
	if n := skips(state.MaxSkips, 10_000); n != 6 {
		t.Errorf("%d skips of 10,000 bytes are remembered", n)
	}
}

// TestApart: the order keys that are read apart are part of the position. A binary that does not know them must not go
// on from it.
func TestApart(t *testing.T) {
	t.Parallel()
	doc := state.Document{PollerName: "orders", Apart: []state.Apart{
		{OrderKey: []byte(`{"customer":"<a>","n":1}`), At: change.Cursor(`{"kind":"int","value":3}`)},
		{OrderKey: []byte(`{"customer":"b","n":2}`)},
	}}
	data, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	// An editor may have indented it.
	data = bytes.ReplaceAll(data, []byte(`{"customer":`), []byte("{\n \"customer\" : "))
	got, err := state.Decode(data)
	if err != nil || !slices.EqualFunc(got.Apart, doc.Apart, func(a, b state.Apart) bool {
		return string(a.OrderKey) == string(b.OrderKey) && a.At.Equal(b.At)
	}) || !slices.Contains(got.Requires, "apart") {
		t.Errorf("%v: %+v, requires %v", err, got.Apart, got.Requires)
	}
	got.Apart = nil
	if data, err = got.Encode(); err != nil || strings.Contains(string(data), "apart") {
		t.Errorf("%v: %s", err, data)
	}
	for _, bad := range []string{`[{"order_key":null,"at":null}]`, `[{"order_key":{"a":1}}]`, `[{"at":null}]`, `{}`} {
		text := strings.Replace(string(data), `"lease": {`, `"apart": `+bad+`, "lease": {`, 1)
		if _, err := state.Decode([]byte(text)); err == nil {
			t.Errorf("read: %s", bad)
		}
	}
}
