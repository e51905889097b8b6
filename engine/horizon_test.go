package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// TestLooksWithoutAList: a server whose list others keep as it is from the first question on. A few questions wait for
// a new one, and those after that are told at once that nothing is shown, until there is one.
func TestLooksWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const least = 120 * time.Millisecond
		l, old := new(Looks), change.Horizon{Now: time.Now(), Shown: true}
		asked := 0
		for again := true; again; asked++ {
			var h change.Horizon
			if h, again = l.Saw(old, false); h.Shown || !h.Crowded {
				t.Fatalf("a list of any age is shown, or it is not said that others ask too often: %+v", h)
			}
		}
		if _, recent := l.Within(least); asked != firstTries || recent {
			t.Errorf("asked %d times, recent %v", asked, recent)
		}
		if h, recent := l.Within(least); !recent || h.Shown || !h.Crowded {
			t.Errorf("asked again at once: %+v", h)
		}
		time.Sleep(longestPause)
		if _, recent := l.Within(least); recent {
			t.Error("never asked again")
		}
		if h, again := l.Saw(old, true); again || !h.Shown || h.Crowded {
			t.Errorf("a new list: %+v, %v", h, again)
		}
	})
}

// TestLooksBesideOthers: what began since the last new list may be open, whatever an older one shows.
func TestLooksBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, at := new(Looks), time.Now()
		if h, again := l.Saw(change.Horizon{Now: at, Shown: true}, true); again || !h.Oldest.IsZero() {
			t.Errorf("%+v, %v", h, again)
		}
		time.Sleep(time.Second)
		if h, again := l.Saw(change.Horizon{Now: time.Now(), Shown: true}, false); again || !h.Oldest.Equal(at) {
			t.Errorf("%+v, %v", h, again)
		}
		before := change.Horizon{Now: time.Now(), Shown: true, Oldest: at.Add(-time.Minute), By: "somebody"}
		if h, _ := l.Saw(before, false); !h.Oldest.Equal(before.Oldest) || h.By != before.By {
			t.Errorf("%+v", h)
		}
	})
}
