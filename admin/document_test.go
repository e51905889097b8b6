package admin

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

func TestPauseWorksUnderALease(t *testing.T) {
	f := newFixture(t)
	f.held()
	if r := f.apply(f.Pause(t.Context())); !strings.HasPrefix(r.Text, "paused; ") ||
		!strings.Contains(r.Text, "gives it back") {
		t.Errorf("%q", r.Text)
	}
	if p := f.doc().Paused; p == nil || p.By != "ann" || !p.Until.IsZero() {
		t.Errorf("paused: %+v", p)
	}
	f.logged("paused", "poller=orders")
	_, err := f.Pause(t.Context())
	nothingToDo(t, err, "has been paused since")
	f.apply(f.Resume(t.Context()))
	if f.doc().Paused != nil {
		t.Error("it is still paused")
	}
	f.logged("resumed")
	_, err = f.Resume(t.Context())
	nothingToDo(t, err, "is not paused")
}

// A person's pause takes the place of a replay's, whose end would end it too.
func TestPauseOutlastsAReplay(t *testing.T) {
	f := newFixture(t)
	f.pausedBy(&state.Paused{At: time.Now(), Until: time.Now().Add(time.Minute), By: "bob" + forReplay})
	f.apply(f.Pause(t.Context()))
	if p := f.doc().Paused; p.By != "ann" || !p.Until.IsZero() {
		t.Errorf("paused: %+v", p)
	}
}

func TestADocumentThatIsNotThere(t *testing.T) {
	f := newFixture(t)
	_, err := f.document(f.Store, "stock").Pause(t.Context())
	refused(t, err, "the first tick that runs creates it")
	if r := new(Refusal); !errors.As(err, &r) || !r.Missing {
		t.Errorf("%+v is not said to be missing", err)
	}
}

func TestResetCountsAndNotes(t *testing.T) {
	for to, c := range map[string]struct {
		at             int
		again, skipped int64
		what           string
	}{
		"beginning": {0, 5, 0, "5 row(s) will be delivered again"},
		"cursor=3":  {3, 2, 0, "2 row(s) will be delivered again"},
		"cursor=7":  {7, 0, 2, "2 row(s) will be SKIPPED"},
		"latest":    {10, 0, 5, "5 row(s) will be SKIPPED"},
	} {
		t.Run(to, func(t *testing.T) {
			f := newFixture(t)
			m, err := f.Reset(t.Context(), &Reset{To: to})
			if err != nil || m.Again != c.again || m.Skipped != c.skipped || m.Lost() != c.skipped ||
				!strings.Contains(m.What, c.what) {
				t.Fatalf("%+v, %v", m, err)
			}
			if m.Key != f.Key || m.Reached.String() != at(5).String() {
				t.Errorf("the plan is about %s at %s", m.Key, m.Reached)
			}
			if got := f.doc(); number(got.Checkpoint.Cursor) != 5 {
				t.Errorf("the plan has moved it to %s", got.Checkpoint.Cursor)
			}
			if r := f.apply(&m.Plan, nil); r.Text != "done" || len(r.Notes) > 0 {
				t.Errorf("%+v", r)
			}
			doc := f.doc()
			if number(doc.Checkpoint.Cursor) != c.at {
				t.Errorf("it is at %s", doc.Checkpoint.Cursor)
			}
			if c.skipped == 0 {
				f.logged("checkpoint_reset_manually", fmt.Sprintf("count=%d", c.again))
			} else {
				f.logged("checkpoint_advanced_manually", fmt.Sprintf("count=%d", c.skipped))
			}
			if (len(doc.Skips) == 1) != (c.skipped > 0) ||
				c.skipped > 0 && (doc.Skips[0].Rows != c.skipped || doc.Skips[0].By != "ann") {
				t.Errorf("skips: %+v", doc.Skips)
			}
		})
	}
}

func TestResetSaysWhatItCannotCount(t *testing.T) {
	f := newFixture(t)
	f.table.err = errors.New("the database is away")
	m, err := f.Reset(t.Context(), &Reset{To: "cursor=7"})
	if err != nil || m.Lost() != -1 || len(m.Notes) != 2 || !strings.Contains(m.Notes[0], "the database is away") ||
		!strings.Contains(m.Notes[1], "the database is away") {
		t.Fatalf("%+v, %v", m, err)
	}
	f.apply(&m.Plan, nil)
	if s := f.doc().Skips; len(s) != 1 || s[0].Rows != -1 {
		t.Errorf("skips: %+v", s)
	}
}

// TestResetAheadOfAllRows: of rows to come below the new position the count says nothing. So the plan does.
func TestResetAheadOfAllRows(t *testing.T) {
	for to, want := range map[string]bool{"cursor=10": false, "cursor=11": true, "latest": false, "beginning": false} {
		m, err := newFixture(t).Reset(t.Context(), &Reset{To: to})
		if err != nil || strings.Contains(m.What, "rows that come below it are NEVER delivered") != want {
			t.Errorf("%s: %+v, %v", to, m, err)
		}
	}
}

// TestResetKeepsWhatIsReadApart: where nobody can count what lies between, the rows of an order key that is read apart
// are not passed.
func TestResetKeepsWhatIsReadApart(t *testing.T) {
	f := newFixture(t)
	apart := []state.Apart{{OrderKey: keyOf(2), At: at(3)}}
	if err := f.held().Commit(t.Context(), state.Commit{From: at(5), To: at(5), Apart: apart, Release: true}); err != nil {
		t.Fatal(err)
	}
	f.table.err = errors.New("the database is away")
	m, err := f.Reset(t.Context(), &Reset{To: "cursor=4"})
	f.apply(&m.Plan, err)
	if got := f.doc().Apart; len(got) != 1 || !got[0].At.Equal(apart[0].At) {
		t.Errorf("read apart: %+v", got)
	}
}

func TestResetUnderALease(t *testing.T) {
	f := newFixture(t)
	lease := f.held()
	_, err := f.Reset(t.Context(), &Reset{To: "beginning"})
	refused(t, err, "rowrelay state pause orders")
	if held := new(state.HeldError); !errors.As(err, &held) {
		t.Errorf("%v does not say who holds it", err)
	}
	m, err := f.Reset(t.Context(), &Reset{To: "beginning", BreakLease: true})
	r := f.apply(&m.Plan, err)
	token := f.doc().Lease.FencingToken
	if token <= lease.Token() || len(r.Notes) != 1 ||
		r.Notes[0] != fmt.Sprintf("the lease is free, the token is %d", token) {
		t.Errorf("token %d after %d, %+v", token, lease.Token(), r)
	}
	f.logged("lease_broken_manually", "holder=shop/test")
	_, err = f.Reset(t.Context(), &Reset{BreakLease: true})
	nothingToDo(t, err, "nobody holds the lease")
}

func TestResetWithParkedEvents(t *testing.T) {
	f := newFixture(t)
	f.parks(parking.Entry{ID: "e2", Key: keyOf(2), OrderKey: keyOf(2)})
	_, err := f.Reset(t.Context(), &Reset{To: "cursor=3"})
	refused(t, err, "--parked drop")
	m, err := f.Reset(t.Context(), &Reset{To: "cursor=3", Parked: "drop"})
	if err != nil || m.Parked != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	f.apply(&m.Plan, nil)
	if keys := f.parkedKeys(); len(keys) > 0 {
		t.Errorf("parked: %q", keys)
	}
	f.logged("parked_dropped_manually", "id=e2")
	if s := f.doc().Skips; len(s) != 1 || s[0].Rows != 1 {
		t.Errorf("skips: %+v", s)
	}
}

func TestResetRewritesADamagedDocument(t *testing.T) {
	f := newFixture(t)
	stored, err := f.Store.Load(t.Context(), f.Key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Store.Replace(t.Context(), f.Key, []byte("{"), stored.Version); err != nil {
		t.Fatal(err)
	}
	damage := new(state.DocumentError)
	if _, err := f.Reset(t.Context(), &Reset{To: "latest"}); !errors.As(err, &damage) {
		t.Errorf("to latest: %v", err)
	}
	m, err := f.Reset(t.Context(), &Reset{To: "beginning"})
	if err != nil || m.Key != "" || !strings.Contains(m.What, "It will be written anew") {
		t.Fatalf("%+v, %v", m, err)
	}
	f.apply(&m.Plan, nil)
	if doc := f.doc(); !doc.Checkpoint.Cursor.IsStart() || doc.SourceFingerprint != "sha256:1" {
		t.Errorf("%+v", doc)
	}
}

// A clone is at the same position, and not paused; it has skipped nothing, and sends no backfill.
func TestClone(t *testing.T) {
	f := newFixture(t)
	f.parks(parking.Entry{ID: "e2", Key: keyOf(2), OrderKey: keyOf(2)})
	m, err := f.Reset(t.Context(), &Reset{To: "cursor=7", Parked: "keep"})
	f.apply(&m.Plan, err)
	b, err := f.Backfill(t.Context(), &Rows{From: "beginning"})
	f.apply(&b.Plan, err)
	f.accepts()
	f.apply(f.Pause(t.Context()))
	stock := f.document(f.Store, "stock")
	p, err := f.Clone(t.Context(), "orders", stock, "stock")
	if err != nil || !strings.Contains(p.What, "1 parked event(s) stay with orders") {
		t.Fatalf("%+v, %v", p, err)
	}
	f.apply(p, nil)
	snap, err := stock.Keeper.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if is := snap.Doc; number(is.Checkpoint.Cursor) != 7 || is.Paused != nil || is.Backfill != nil || is.Skips != nil ||
		is.Parked.Object != "" || !is.Checkpoint.AcceptedAt.IsZero() {
		t.Errorf("%+v", is)
	}
	if _, err := f.Clone(t.Context(), "orders", stock, "stock"); err == nil ||
		!strings.Contains(err.Error(), "nothing is written over it") {
		t.Errorf("a second time: %v", err)
	}
	f.table.now.Fingerprint = "sha256:2"
	if _, err := f.Clone(t.Context(), "orders", f.document(f.Store, "other"), "other"); err == nil ||
		!strings.Contains(err.Error(), "reads another source") {
		t.Errorf("of another source: %v", err)
	}
}

func TestAcceptFingerprint(t *testing.T) {
	f := newFixture(t)
	_, err := f.AcceptFingerprint(t.Context(), "")
	nothingToDo(t, err, "nothing to accept")
	f.table.now.Fingerprint = "sha256:2"
	f.apply(f.AcceptFingerprint(t.Context(), ""))
	if doc := f.doc(); doc.SourceFingerprint != "sha256:2" || number(doc.Checkpoint.Cursor) != 5 {
		t.Errorf("%+v", doc)
	}
	f.logged("fingerprint_accepted", "from=sha256:1", "to=sha256:2")
}

// TestAcceptKeepsTheClock: the reading of the database's clock stays where it goes with the position. With none the
// position is ahead of an old reading, and the next process would take it back to there (the simulation's seed 59244).
func TestAcceptKeepsTheClock(t *testing.T) {
	for from, kept := range map[late.Mode]bool{
		late.Overlap: true, late.Settle: true, late.None: false, late.Exact: false,
	} {
		f := newFixture(t)
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		if err := f.loadFree(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := f.edit(t.Context(), func(doc *state.Document) {
			doc.Late = state.Late{Mode: string(from), Clock: at, ClockAt: at}
		}); err != nil {
			t.Fatal(err)
		}
		if f.table.now.Late = late.Overlap; from == late.Overlap {
			f.table.now.Late = late.Settle
		}
		f.apply(f.AcceptFingerprint(t.Context(), ""))
		if doc := f.doc(); doc.Late.Mode != "" || doc.Late.ClockAt.Equal(at) != kept || doc.Late.Clock.Equal(at) != kept {
			t.Errorf("from %s: %+v", from, doc.Late)
		}
	}
}

func TestAcceptGap(t *testing.T) {
	f := newFixture(t)
	f.table.ahead, f.table.last = fmt.Errorf("%w: the counter went back", poller.ErrGap), 3
	p, err := f.AcceptGap(t.Context())
	if err != nil || !strings.Contains(p.What, "at most 3 row(s) up to it are SKIPPED") ||
		!strings.Contains(p.What, "cannot go on at its position") || strings.Contains(p.What, "ahead of the source") {
		t.Fatalf("%+v, %v", p, err)
	}
	f.apply(p, nil)
	doc := f.doc()
	if number(doc.Checkpoint.Cursor) != 3 || doc.Checkpoint.Incarnation != "" || len(doc.Skips) != 1 {
		t.Errorf("%+v", doc)
	}
	f.logged("gap_accepted")
	f.table.ahead = nil
	_, err = f.AcceptGap(t.Context())
	nothingToDo(t, err, "no gap to accept")
	// One that a tick has found stays, although the counter is past the position by now.
	f.gap("it is ahead")
	p, err = f.AcceptGap(t.Context())
	f.apply(p, err)
	if gap := f.doc().Checkpoint.Gap; gap != "" {
		t.Errorf("%q stays", gap)
	}
}

func TestImport(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(t.TempDir(), "old.json")
	write := func(text string) {
		testfile.Write(t, path, text)
	}
	stock := f.document(f.Store, "stock")
	write(`{"version":1,"lease":{"owner_id":"old","expires_at":"2999-01-01T00:00:00Z"},"checkpoint":{"cursor":[4,4]}}`)
	if _, err := stock.Import(t.Context(), foreigner{}, path, nil); err == nil ||
		!strings.Contains(err.Error(), "stop that function first") {
		t.Errorf("under a lease: %v", err)
	}
	for text, want := range map[string]string{
		`{"version":2}`:                                                      "it needs version 1, and has 2",
		`{"version":1,"checkpoint":{}}`:                                      "no state document of azure-functions-db with a position",
		`{"version":1,"checkpoint":{"cursor":["x"]}}`:                        "its position does not fit the settings",
		`{"version":1,"checkpoint":{"cursor":{"kind":"integer","value":4}}}`: "which has no key",
	} {
		write(text)
		if _, err := stock.Import(t.Context(), foreigner{}, path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	// An owner whose lease has expired is no hindrance.
	write(`{"version":1,"lease":{"owner_id":"old","expires_at":"2001-01-01T00:00:00Z"},
		"checkpoint":{"cursor":[4,4],"batch_id":"b1"}}`)
	p, err := stock.Import(t.Context(), foreigner{}, path, nil)
	if err != nil || !strings.Contains(p.What, "(batch b1 of an unnamed poller)") ||
		!strings.Contains(p.What, "6 row(s) lie after it") {
		t.Fatalf("%+v, %v", p, err)
	}
	write(`{"version":1,"poller_name":"other","checkpoint":{"cursor":[99,99]}}`)
	if p, err := stock.Import(t.Context(), foreigner{}, path, nil); err != nil || !strings.Contains(p.What, "of other)") ||
		!strings.Contains(p.What, "NEVER delivered") || strings.Contains(p.What, "--to latest") {
		t.Errorf("above all rows: %+v, %v", p, err)
	}
	f.apply(p, nil)
	shown, err := stock.State(t.Context())
	if err != nil || number(shown.Position) != 4 {
		t.Errorf("%+v, %v", shown, err)
	}
	if _, err := stock.Import(t.Context(), foreigner{}, path, nil); err == nil ||
		!strings.Contains(err.Error(), "has a state document already") {
		t.Errorf("a second time: %v", err)
	}
}
