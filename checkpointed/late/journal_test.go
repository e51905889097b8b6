package late

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/state"
)

// TestACrashCostsTheBatchesInFlight: what is settled is stored with its batch, in the document, and the object of the
// memory is written now and then; also when a sweep has forgotten something. What a commit says of its batches
// elsewhere, that their rows wait for a parked one, it says here as well, however soon after another: none of them is
// found again.
func TestACrashCostsTheBatchesInFlight(t *testing.T) {
	for _, test := range []struct {
		forgets, beside bool
		flying          int // batches
		between         time.Duration
	}{{flying: 1, between: journalEvery}, {forgets: true, flying: 1, between: journalEvery}, {beside: true}} {
		inLate(t, Overlap, 200, func(t *testing.T, d *driver) {
			d.next()
			d.settle(1<<20, false, "") // the first choice is stored
			if test.forgets {
				d.late.remembered.forgotten++
			}
			d.beside = test.beside
			for d.next() {
				for len(d.line) > test.flying {
					time.Sleep(test.between)
					d.settle(1<<20, false, "")
				}
				if len(d.delivered) >= 150 {
					break
				}
			}
			if d.puts > 0 {
				t.Errorf("%+v: %d objects were written", test, d.puts)
			}
			d.crash()
			d.ticks(5)
			if lost := d.lost(); len(lost) > 0 || d.repeats > test.flying*d.limit.Rows {
				t.Errorf("%+v: lost %v, %d duplicates", test, lost, d.repeats)
			}
		})
	}
}

// TestAJournalOfOtherPositions: a binary that does not know the journal moves the position and leaves it as it was.
func TestAJournalOfOtherPositions(t *testing.T) {
	inLate(t, Overlap, 20, func(t *testing.T, d *driver) {
		d.ticks(1)
		if d.doc.Late.Journal.Hashes == "" {
			t.Fatal("there is no journal")
		}
		d.doc.Late.Frontier, d.doc.Late.Next = nil, nil // a reset to the beginning
		d.crash()
		d.ticks(1)
		if d.repeats != 20 {
			t.Errorf("%d rows came again", d.repeats)
		}
	})
}

// TestAJournalWithBlanks: the journal of an older document is of positions that were written with blanks.
func TestAJournalWithBlanks(t *testing.T) {
	const begin = `{"kind":"integer+pk","value":7,"tiebreaker":{"name":"a,b"},"window":[`
	written := []change.Cursor{change.Cursor(begin + "3, 9, null]}"), change.Cursor(begin + "3]}"), nil}
	for _, low := range written {
		for _, front := range written {
			var doc state.Document
			for to, at := range map[*change.Cursor]change.Cursor{&doc.Checkpoint.Cursor: low, &doc.Late.Frontier: front} {
				data, err := at.MarshalJSON()
				if err = errors.Join(err, to.UnmarshalJSON(data)); err != nil {
					t.Fatal(err)
				}
			}
			if !areEdges(edges(low, front), &doc) {
				t.Errorf("the journal between %s and %s is not known", low, front)
			}
			if areEdges(edges(low, change.Cursor(begin+"4]}")), &doc) {
				t.Errorf("the journal between %s and another position is known", low)
			}
		}
	}
}

// TestTheJournalEndsInAPage: the document takes so much and no more, and the page some hashes more.
func TestTheJournalEndsInAPage(t *testing.T) {
	quick.Skip(t)
	inLate(t, Overlap, 0, func(t *testing.T, d *driver) {
		d.limit.Rows = 500
		for range 3 {
			d.insert(journalMost / 2)
			d.ticks(1)
			if n := len(d.doc.Late.Journal.Hashes); n > 4*8*journalMost/3+4 {
				t.Errorf("the journal has %d bytes", n)
			}
		}
		if d.puts != 1 || len(d.doc.Late.Journal.Pages) != 1 {
			t.Errorf("%d objects were written, pages %q", d.puts, d.doc.Late.Journal.Pages)
		}
		d.crash()
		d.ticks(1)
		if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
			t.Errorf("lost %v, %d duplicates", lost, d.repeats)
		}
	})
}

// TestStoringCostsLittleBesideALargeMemory: what is written for a batch does not grow with what is remembered, so that
// it can be written with each.
func TestStoringCostsLittleBesideALargeMemory(t *testing.T) {
	quick.Skip(t)
	inLate(t, Overlap, 0, func(t *testing.T, d *driver) {
		const rows = 100_000
		d.limit.Rows, d.cfg.Memory = 4000, 2*rows
		d.crash()
		d.insert(rows)
		for d.next() && len(d.delivered) < rows*3/4 {
			for len(d.line) > 1 {
				d.settle(1<<20, false, "")
			}
		}
		// Each is written in a page, in another when that has become one of many, and with the memory twice as it grows.
		if most := 8 * rows * 4; d.written > most {
			t.Errorf("%d bytes were written for %d rows, more than %d", d.written, rows, most)
		}
		d.crash()
		d.ticks(1)
		if lost := d.lost(); len(lost) > 0 || d.repeats > 2*d.limit.Rows {
			t.Errorf("lost %d, %d duplicates", len(lost), d.repeats)
		}
	})
}

// TestPagesOfASizeBecomeOne: the pages have all but the newest hashes, in their order, and are never many.
func TestPagesOfASizeBecomeOne(t *testing.T) {
	var j journal
	objects, written, most := map[string][]uint64{}, 0, 0
	for n := range 400 {
		for range journalMost + 100 {
			j.hashes = append(j.hashes, uint64(len(j.hashes)+1))
		}
		pages, hashes := j.next()
		last := &pages[len(pages)-1]
		last.name = fmt.Sprint("page ", n)
		objects[last.name] = hashes
		j.pages, written, most = pages, written+len(hashes), max(most, len(pages))
	}
	var held []uint64
	for _, p := range j.pages {
		held = append(held, objects[p.name]...)
	}
	if !slices.Equal(held, j.hashes) || j.paged() != len(j.hashes) {
		t.Errorf("the %d pages have %d of %d hashes", len(j.pages), len(held), len(j.hashes))
	}
	if most > 2*pagesOfASize || written > 3*len(j.hashes) {
		t.Errorf("%d pages, and %d hashes were written for %d", most, written, len(j.hashes))
	}
	if pages, hashes := j.next(); hashes != nil || len(pages) != len(j.pages) {
		t.Error("a page is written with nothing new")
	}
}

// TestAPageThatIsGone: the rows of the page come again, and nothing is lost.
func TestAPageThatIsGone(t *testing.T) {
	inLate(t, Overlap, 0, func(t *testing.T, d *driver) {
		d.limit.Rows = 500
		d.insert(journalMost + 1000)
		d.ticks(1)
		delete(d.objects, d.doc.Late.Journal.Pages[0])
		d.crash()
		d.ticks(1)
		if lost := d.lost(); len(lost) > 0 || d.repeats == 0 || len(d.warned) == 0 {
			t.Errorf("lost %d, %d duplicates, warned %q", len(lost), d.repeats, d.warned)
		}
	})
}

// TestAVersionInTheJournalTwice: what was forgotten and is remembered again stands in the journal twice.
func TestAVersionInTheJournalTwice(t *testing.T) {
	if set, err := decodeMemory(encodeMemory([]uint64{3, 1, 3})); err != nil || set.len() != 2 {
		t.Errorf("%v", err)
	}
}

// insert commits rows.
func (d *driver) insert(rows int) {
	for range rows {
		d.table.NextKey++
		d.table.Put(d.table.NextKey, latetest.Row{Cursor: d.table.Draw(), Text: fmt.Sprint("row ", d.table.NextKey)})
	}
}
