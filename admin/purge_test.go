package admin

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
)

// TestPurgeOfWhatIsGivenUpAgain: the newer record stays, and nobody is told that it went.
func TestPurgeOfWhatIsGivenUpAgain(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.letter(2)
	plan, err := f.chosen().Purge()
	if err != nil {
		t.Fatal(err)
	}
	f.letter(1)
	r := f.apply(plan, nil)
	if r.Text != "done: 1" || r.Count != 1 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "its dead letter stays") {
		t.Errorf("%+v", r)
	}
	if got := f.ids(); !slices.Equal(got, []string{"e1"}) {
		t.Errorf("dead letters: %q", got)
	}
}

func TestPurgeLetsWhatWaitsGoOn(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.parks(parking.Entry{ID: "e1", Key: keyOf(1), OrderKey: keyOf(1), Blocked: true, Followers: rawKeys(2, 3)})
	f.apply(f.chosen("e1").Purge())
	if got := f.parkedKeys(); !slices.Equal(got, []string{`{"id":2}`, `{"id":3}`}) {
		t.Errorf("parked: %q", got)
	}
	if got := f.ids(); len(got) > 0 {
		t.Errorf("dead letters: %q", got)
	}
	f.logged("deadletter_purged", "id=e1")
	if skips := f.doc().Skips; len(skips) > 0 {
		t.Errorf("its record told of it: %+v", skips)
	}
}

// A row that cannot be read any more is what its operator wants to be rid of.
func TestPurgeOfAParkedRowThatCannotBeRead(t *testing.T) {
	f := newFixture(t)
	f.table.unreadable = 1
	f.parks(parking.Entry{ID: "e1", Key: keyOf(1), OrderKey: keyOf(1), Followers: rawKeys(2)})
	c, err := f.Choose(t.Context(), &Choice{Parked: true})
	if err != nil || len(c.Entries) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	r := f.apply(c.Purge())
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "cannot be read as an event") {
		t.Errorf("%+v", r)
	}
	if got := f.parkedKeys(); !slices.Equal(got, []string{`{"id":2}`}) {
		t.Errorf("parked: %q", got)
	}
}

func TestPurgeOfParkedEventsIsNoted(t *testing.T) {
	f := newFixture(t)
	f.parks(parking.Entry{ID: "e1", Key: keyOf(1), OrderKey: keyOf(1)},
		parking.Entry{ID: "x", Key: []byte(`"x"`), OrderKey: []byte(`"x"`)})
	c, err := f.Choose(t.Context(), &Choice{Parked: true})
	if err != nil || len(c.Entries) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	r := f.apply(c.Purge())
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "does not fit the settings any more") || r.Text != "done: 2" {
		t.Errorf("%+v", r)
	}
	if skips := f.doc().Skips; len(skips) != 1 || skips[0].Rows != 2 {
		t.Errorf("skips: %+v", skips)
	}
	f.logged("parked_purged", "id=e1")
}

// A record whose key does not wait is deleted without the lease, which a busy poller holds.
func TestPurgeUnderALease(t *testing.T) {
	f := newFixture(t)
	f.letter(1)
	f.held()
	f.apply(f.chosen("e1").Purge())
	if got := f.ids(); len(got) > 0 {
		t.Errorf("dead letters: %q", got)
	}
}
