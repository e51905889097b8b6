package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// seed is a document of azure-functions-db, with its members only.
const seed = `{
  "version": 1,
  "poller_name": "orders",
  "source_fingerprint": "sha256:abc",

  "checkpoint": {
    "cursor": {
      "kind": "timestamp+pk",
      "value": "2026-04-07T01:23:45.123456Z",
      "tiebreaker": {
        "id": 12093
      }
    },
    "last_successful_batch_id": "batch_20260407_012346_0001",
    "updated_at": "2026-04-07T01:23:46.020000Z",
    "metadata": {
      "row_count": 100
    }
  },

  "lease": {
    "owner_id": "funcapp/instance-abc123",
    "fencing_token": 42,
    "acquired_at": "2026-04-07T01:23:00Z",
    "heartbeat_at": "2026-04-07T01:23:20Z",
    "expires_at": "2026-04-07T01:25:00Z"
  }
}`

func TestDecodeSeed(t *testing.T) {
	t.Parallel()
	got, err := state.Decode([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	want := state.Document{
		PollerName: "orders", SourceFingerprint: "sha256:abc",
		Checkpoint: state.Checkpoint{
			Cursor:      change.Cursor(`{"kind":"timestamp+pk","value":"2026-04-07T01:23:45.123456Z","tiebreaker":{"id":12093}}`),
			LastBatchID: "batch_20260407_012346_0001",
			UpdatedAt:   time.Date(2026, 4, 7, 1, 23, 46, 20e6, time.UTC), RowCount: 100,
		},
		Lease: state.LeaseRecord{
			OwnerID: "funcapp/instance-abc123", FencingToken: 42,
			AcquiredAt:  time.Date(2026, 4, 7, 1, 23, 0, 0, time.UTC),
			HeartbeatAt: time.Date(2026, 4, 7, 1, 23, 20, 0, time.UTC),
			ExpiresAt:   time.Date(2026, 4, 7, 1, 25, 0, 0, time.UTC),
		},
	}
	if diff := cmp.Diff(want, got, ignoreRest); diff != "" {
		t.Error(diff)
	}
}

var ignoreRest = cmpopts.IgnoreUnexported(state.Document{}, state.Checkpoint{}, state.LeaseRecord{}, state.Late{},
	state.Paused{}, state.Backfill{}, state.Skip{})

// golden is what this binary writes: docs/state.md shows the same.
const golden = `{
  "version": 1,
  "poller_name": "orders",
  "source_fingerprint": "sha256:abc",
  "checkpoint": {
    "cursor": {"kind":"int","value":"9007199254740993","note":"<&>"},
    "incarnation": "life-1",
    "table": "oid 1",
    "columns": "\"id\" integer",
    "gap": "it is ahead",
    "last_successful_batch_id": "batch_1",
    "updated_at": "2026-04-07T01:23:46.020000Z",
    "metadata": {
      "row_count": 100
    }
  },
  "lease": {
    "owner_id": "",
    "fencing_token": "9007199254740993",
    "lease_id": "L",
    "write_seq": 7,
    "ttl": "1m0s",
    "acquired_at": null,
    "heartbeat_at": "2026-04-07T01:23:20.000000Z",
    "expires_at": "2026-04-07T01:23:20.000000Z"
  }
}
`

func TestEncodeGolden(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 4, 7, 3, 23, 20, 999, time.FixedZone("", 7200))
	doc := state.Document{
		PollerName: "orders", SourceFingerprint: "sha256:abc",
		Checkpoint: state.Checkpoint{
			Cursor: change.Cursor(`{"kind":"int","value":"9007199254740993","note":"<&>"}`), LastBatchID: "batch_1",
			UpdatedAt: time.Date(2026, 4, 7, 1, 23, 46, 20e6, time.UTC), RowCount: 100, Incarnation: "life-1",
			Table: "oid 1", Columns: `"id" integer`, Gap: "it is ahead",
		},
		Lease: state.LeaseRecord{FencingToken: 1<<53 + 1, LeaseID: "L", WriteSeq: 7, TTL: time.Minute, HeartbeatAt: at,
			ExpiresAt: at},
	}
	got, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(golden, string(got)); diff != "" {
		t.Error(diff)
	}
	back, err := state.Decode(got)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := back.Encode(); err != nil || !bytes.Equal(again, got) {
		t.Errorf("a rewrite changes it (%v):\n%s", err, again)
	}
}

func TestBeginningIsNull(t *testing.T) {
	t.Parallel()
	doc := state.Document{PollerName: "p"}
	data, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(`"cursor": null`)) {
		t.Errorf("the beginning is not null:\n%s", data)
	}
	if back, err := state.Decode(data); err != nil || !back.Checkpoint.Cursor.IsStart() {
		t.Errorf("decoded %v, %v", back.Checkpoint.Cursor, err)
	}
}

// TestUnknownMembers: what a newer binary or an operator wrote survives, byte for byte.
func TestUnknownMembers(t *testing.T) {
	t.Parallel()
	odd := []string{
		`"pause": { "by" : "ann", "why":"<b>&\u003c\u2028` + "\u2028" + `", "n": 1e400, "big": 12345678901234567890.10 }`,
		`"\u0070arked<>": [ 1 ,2,  {"a":null} ]`,
		`"x": "` + strings.Repeat("long", 100) + `"`,
		`"y": -0.0`,
	}
	text := fmt.Sprintf(`{"version":1,%s,"poller_name":"p","checkpoint":{"cursor":null,%s,"metadata":{%s,"row_count":1}},"lease":{"fencing_token":1,%s}}`,
		odd[0], odd[1], odd[2], odd[3])
	doc, err := state.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		data, err := doc.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range odd {
			if !bytes.Contains(data, []byte(member)) {
				t.Errorf("round %d: %s is gone from\n%s", round, member, data)
			}
		}
		if doc, err = state.Decode(data); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDecodeFaults(t *testing.T) {
	t.Parallel()
	with := func(old, new string) string { return strings.Replace(seed, old, new, 1) }
	for name, c := range map[string]struct {
		text  string
		fault state.DocumentFault
		says  string
	}{
		"empty":               {"", state.Empty, "is empty"},
		"blank":               {" \n\t", state.Empty, "is empty"},
		"truncated":           {seed[:len(seed)/2], state.Truncated, "is truncated"},
		"last brace missing":  {strings.TrimSuffix(seed, "}"), state.Truncated, "is truncated"},
		"text":                {"hello", state.NotJSON, "is not JSON"},
		"binary":              {"{\"a\":\"\xff\"}", state.NotJSON, "UTF-8"},
		"two documents":       {seed + seed, state.NotJSON, "is not JSON"},
		"an array":            {"[]", state.Malformed, "not an object"},
		"null":                {"null", state.Malformed, "not an object"},
		"no version":          {with(`"version": 1,`, ``), state.Malformed, "version is missing"},
		"version in capitals": {with(`"version"`, `"Version"`), state.Malformed, "version is missing"},
		"version 2":           {with(`"version": 1`, `"version": 2`), state.OtherVersion, "version 2"},
		"version 0":           {with(`"version": 1`, `"version": 0`), state.OtherVersion, "version 0"},
		"version text":        {with(`"version": 1`, `"version": "new"`), state.Malformed, "version: "},
		"unknown requires": {with(`"version": 1`, `"version": 1, "requires": ["incarnation", "claims"]`),
			state.UnknownRequires, `"claims"`},
		"odd requires":     {with(`"version": 1`, `"version": 1, "requires": "claims"`), state.Malformed, "requires: "},
		"twice":            {with(`"version": 1`, `"version": 1, "poller_name": "x"`), state.Malformed, "twice"},
		"no checkpoint":    {with(`"checkpoint"`, `"checkpoints"`), state.Malformed, "checkpoint is missing"},
		"no cursor":        {with(`"cursor"`, `"curser"`), state.Malformed, "checkpoint.cursor is missing"},
		"old cursor":       {with(`"kind"`, `"type"`), state.Malformed, "checkpoint.cursor: not a cursor"},
		"no lease":         {with(`"lease"`, `"leases"`), state.Malformed, "lease is missing"},
		"no token":         {with(`"fencing_token"`, `"token"`), state.Malformed, "lease.fencing_token is missing"},
		"negative token":   {with(`42`, `-42`), state.Malformed, "lease.fencing_token: -42"},
		"fractional token": {with(`42`, `42.5`), state.Malformed, "lease.fencing_token: 42.5"},
		"huge token":       {with(`42`, `9223372036854775808`), state.Malformed, "lease.fencing_token"},
		"odd row count":    {with(`100`, `"many"`), state.Malformed, "checkpoint.metadata.row_count"},
		"odd time":         {with(`"2026-04-07T01:25:00Z"`, `"soon"`), state.Malformed, "lease.expires_at"},
		"no expiry":        {with(`"expires_at"`, `"expires"`), state.Malformed, "lease.expires_at is missing"},
		"odd ttl":          {with(`42`, `42, "ttl": "long"`), state.Malformed, "lease.ttl"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := state.Decode([]byte(c.text))
			var fault *state.DocumentError
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a *DocumentError", err)
			}
			if fault.Fault != c.fault || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v (%s), want %s saying %q", err, fault.Fault, c.fault, c.says)
			}
			mend := "rowrelay state reset"
			if c.fault == state.OtherVersion || c.fault == state.UnknownRequires {
				mend = "use a newer rowrelay"
			}
			if !strings.Contains(err.Error(), mend) || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("%q names no mend (%s)", err, mend)
			}
		})
	}
}

func TestTokenAsText(t *testing.T) {
	t.Parallel()
	doc, err := state.Decode([]byte(strings.Replace(seed, "42", `"9007199254740993"`, 1)))
	if err != nil || doc.Lease.FencingToken != 9007199254740993 {
		t.Errorf("token %d, %v", doc.Lease.FencingToken, err)
	}
}

func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	if _, err := state.Decode([]byte("\xef\xbb\xbf" + seed)); err != nil {
		t.Error(err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	doc := state.Document{PollerName: "p"}
	doc.Checkpoint.Cursor = change.Cursor(`{"kind":"int","value":"` + strings.Repeat("9", state.MaxDocument) + `"}`)
	_, err := doc.Encode()
	var fault *state.DocumentError
	if !errors.As(err, &fault) || fault.Fault != state.TooLarge {
		t.Errorf("got %v, want TooLarge", err)
	}
}

// FuzzDecode: whatever is accepted can be written, and comes back the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(seed))
	f.Add([]byte(golden))
	f.Add([]byte(`{"version":1,"requires":["ttl"],"poller_name":"p","checkpoint":{"cursor":null},"lease":{"fencing_token":"1"},"x":{"a":[1,{}]}}`))
	f.Add([]byte(seed[:200]))
	f.Add([]byte(full))
	for _, odd := range []string{
		`"late":{"mode":"exact","memory":{"count":3}}`,
		`"late":null,"parked":null,"paused":null,"backfill":null,"skips":null`, `"paused":{}`,
		`"skips":[{"from":null,"to":{"kind":"a"},"rows":"9007199254740993","x":[ ]}]`,
		`"parked":{"object":"o","count":"7","x" : 1}`,
		`"backfill":{"id":"b","from":null,"to":null,"at":null,"total":"9223372036854775807"}`,
		`"requires":["late","parked","paused","ttl"]`,
	} {
		f.Add([]byte(strings.Replace(seed, `"version": 1,`, `"version": 1,`+odd+`,`, 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := state.Decode(data)
		if err != nil {
			var fault *state.DocumentError
			if !errors.As(err, &fault) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		first, err := doc.Encode()
		if err != nil {
			return // too large
		}
		again, err := state.Decode(first)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first)
		}
		if !again.Checkpoint.Cursor.Equal(doc.Checkpoint.Cursor) || again.Lease.FencingToken != doc.Lease.FencingToken {
			t.Fatalf("cursor or token changed:\n%s\n%s", data, first)
		}
		if diff := cmp.Diff(doc, again, ignoreRest, cmpopts.IgnoreFields(state.Document{}, "Requires", "Skips"),
			cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a rewrite changes members:\n%s", diff)
		}
		second, err := again.Encode()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("a rewrite changes it (%v):\n%s\n%s", err, first, second)
		}
	})
}
