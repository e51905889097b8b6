package feed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// TestRowsThatTakeNoMark: an event that was sent, and whose row cannot be marked, fails the tick. It is left alone for
// a while: others go on, however small a page is.
func TestRowsThatTakeNoMark(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for i := range 13 {
			db.add(fmt.Sprint("a", i))
			db.at(int64(i + 1)).stuck = i < 11
		}
		table := db.connect()
		feed := New(testConfig(claims.Leader), table.open)
		s := openFeed(t, feed, table)
		s.Settled("aaaaaaaaaa", s.Expect("1 2 3 4 5 6 7 8 9 10+"))
		s.Settled("aaa", s.Expect("11 12 13"))
		s.Expect("")
		feedtest.WantFault(t, s.Close(t.Context(), &poller.Report{}), poller.CommitFailed, "seq 11", "sent again after 1m0s")
		s.states("PPPPPPPPPPPxx")

		db.add("b")
		s = openFeed(t, feed, table)
		s.Settled("a", s.Expect("14"))
		s.End()
		time.Sleep(unmarkedPause)
		for _, r := range db.rows {
			r.stuck = false
		}
		s = openFeed(t, feed, table)
		s.Settled("aaaaaaaaaa", s.Expect("1 2 3 4 5 6 7 8 9 10+"))
		s.Settled("a", s.Expect("11"))
		s.End()
		s.states("xxxxxxxxxxxxxx")
	})
}

// TestARefusedEventThatTakesNoMark: it was not accepted, so that what comes after it in its aggregate waits. The tick
// fails, and so does the next.
func TestARefusedEventThatTakesNoMark(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		db.add("a")
		db.at(1).stuck = true
		table := db.connect()
		feed := New(testConfig(claims.Leader), table.open)
		for range 2 {
			s := openFeed(t, feed, table)
			_, err := s.Outcomes(t.Context(), "r-", s.Expect("1 2"))
			feedtest.WantFault(t, err, poller.CommitFailed, "row security")
			s.states("PP")
			s.End()
		}
	})
}

// TestManyRowsThatTakeNoMark: where it is the whole table, nothing more is sent.
func TestManyRowsThatTakeNoMark(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for i := range mostUnmarked + 10 {
			db.add(fmt.Sprint("a", i))
			db.at(int64(i + 1)).stuck = true
		}
		table := db.connect()
		feed := New(testConfig(claims.Leader), table.open)
		s := openFeed(t, feed, table)
		for n := 0; n < mostUnmarked-10; { // in pages: by tens it took eleven seconds
			g, err := s.Next(t.Context(), poller.Limit{Rows: min(90, mostUnmarked-10-n), Bytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			n += len(g.Batch.Events)
			s.Settled(strings.Repeat("a", len(g.Batch.Events)), g)
		}
		_, err := s.Outcomes(t.Context(), "aaaaaaaaaa", s.Fetch())
		feedtest.WantFault(t, err, poller.CommitFailed, "row security")
		feedtest.WantFault(t, s.Close(t.Context(), &poller.Report{}), poller.CommitFailed, "row security")
		s = openFeed(t, feed, table)
		s.ExpectFault(poller.CommitFailed, "nothing is sent")
		s.End()
		time.Sleep(unmarkedPause)
		s = openFeed(t, feed, table)
		s.Expect("1 2 3 4 5 6 7 8 9 10+")
		s.End()
	})
}
