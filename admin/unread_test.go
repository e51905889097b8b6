package admin

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// damaged makes the record of an event one that cannot be read.
func (f *fixture) damaged(id string) {
	f.t.Helper()
	if _, err := f.Store.Create(f.t.Context(), deadletter.Name("shop", "orders", "", id), []byte(`{"ver`)); err != nil {
		f.t.Fatal(err)
	}
}

// A record that cannot be read is deleted by its id. It cannot be shown or sent, and all are never meant to be it.
func TestPurgeOfADeadLetterThatCannotBeRead(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.damaged("e2")
	if c := f.chosen(); len(c.Entries) != 1 || len(c.Unread) != 1 {
		t.Errorf("without an id: %+v", c.Found)
	}
	_, err := f.Find(t.Context(), &Choice{IDs: []string{"e2"}})
	refused(t, err, "rowrelay deadletter purge orders e2 deletes it")
	_, err = f.chosen("e1", "e2").Replay(t.Context())
	refused(t, err, "rowrelay deadletter purge orders e2 deletes it")
	_, err = f.chosen("e2").Resend(func() (poller.Output, error) { return &receiver{}, nil }, time.Minute)
	refused(t, err, "rowrelay deadletter purge orders e2 deletes it")
	if !errors.Is(err, deadletter.ErrRecord) {
		t.Error(err)
	}
	f.apply(f.chosen("e2").Purge())
	f.logged("deadletter_purged", "id=e2")
	if c := f.chosen(); len(c.Unread) > 0 {
		t.Errorf("left: %v", c.Unread)
	}
}

// The parked entry knows the row of a dead letter that blocks its key: that is replayed, and its key let go, as any
// other.
func TestABlockedKeyWhoseRecordCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(*fixture, *Chosen) (*Plan, error)
		want []string
	}{
		"purged": {func(_ *fixture, c *Chosen) (*Plan, error) { return c.Purge() }, []string{`{"id":2}`}},
		"replayed": {func(f *fixture, c *Chosen) (*Plan, error) {
			r, err := c.Replay(f.t.Context())
			return &r.Plan, err
		}, []string{`{"id":1}`, `{"id":2}`}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.damaged("e1")
			f.parks(parking.Entry{ID: "e1", Key: keyOf(1), OrderKey: keyOf(1), Blocked: true, Followers: rawKeys(2)})
			f.apply(c.act(f, f.chosen("e1")))
			if got := f.parkedKeys(); !slices.Equal(got, c.want) {
				t.Errorf("parked: %q", got)
			}
			if found, err := f.Find(t.Context(), &Choice{}); err != nil || len(found.Unread) > 0 {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// While a poller is at work, it writes other parked events and deletes those of before. Who reads them then reads
// again.
func TestParkedEventsWhileATickIsAtWork(t *testing.T) {
	f := newFixture(t)
	f.parks(parking.Entry{OrderKey: keyOf(1), Key: keyOf(1), Cursor: at(1), ID: "e1", Attempts: 1})
	if err := f.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	was := f.snap.Doc.Parked.Object
	f.parks(parking.Entry{OrderKey: keyOf(2), Key: keyOf(2), Cursor: at(2), ID: "e2", Attempts: 1})
	old, err := f.Store.Load(t.Context(), was)
	if err == nil {
		err = f.Store.Delete(t.Context(), was, old.Version)
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, err := f.readParked(t.Context())
	if err != nil || len(entries) != 1 || entries[0].ID != "e2" || f.snap.Doc.Parked.Object == was {
		t.Errorf("%+v, %v", entries, err)
	}
	stored := f.snap.Doc.Parked.Object
	now, err := f.Store.Load(t.Context(), stored)
	if err == nil {
		err = f.Store.Delete(t.Context(), stored, now.Version)
	}
	if _, reading := f.readParked(t.Context()); err != nil || !errors.Is(reading, state.ErrNotFound) {
		t.Errorf("one that is really gone: %v, %v", err, reading)
	}
}
