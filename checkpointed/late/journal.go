package late

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

const (
	// journalMost is how many hashes the document takes: 44 KB.
	journalMost = 4096
	// pagesOfASize pages of about one size become one: so a hash is written three times before the memory is stored.
	pagesOfASize = 16
	// pagesMost is how many hashes the pages take at least: half a MB. They take half of a larger memory.
	pagesMost, pagesPart = pagesOfASize * journalMost, 2
	// journalEvery is how often the document is written for it alone, and journalRows after how many rows at the latest.
	journalEvery = 50 * time.Millisecond
	journalRows  = 2000
)

// fits reports whether document and pages take what is not in the stored memory.
func (l *Tracker) fits() bool {
	return len(l.journal.hashes) <= max(pagesMost, l.remembered.len()/pagesPart)
}

// due reports whether it is time to write the document for the journal alone.
func (j *journal) due() bool {
	return len(j.hashes)-j.noted >= journalRows || time.Since(j.at) >= journalEvery
}

// next returns the pages that there are with the next one, which has no name yet, and what that is to hold; nil where
// none is to be written.
func (j *journal) next() ([]page, []uint64) {
	held := len(j.hashes) - j.paged()
	if held <= journalMost {
		return j.pages, nil
	}
	stay := len(j.pages)
	for size := pagesOfASize * journalMost; ; size *= pagesOfASize {
		same, more := 0, 0
		for same < stay && j.pages[stay-same-1].holds < size {
			same++
			more += j.pages[stay-same].holds
		}
		if same < pagesOfASize-1 {
			break
		}
		stay, held = stay-same, held+more
	}
	return append(slices.Clone(j.pages[:stay]), page{holds: held}), slices.Clone(j.hashes[len(j.hashes)-held:])
}

// stored is the journal as the document keeps it, for the rows between these positions, with these pages.
func (j *journal) stored(pages []page, low, front change.Cursor) state.Journal {
	if len(j.hashes) == 0 {
		return state.Journal{}
	}
	var names []string
	rest := j.hashes
	for _, p := range pages {
		names, rest = append(names, p.name), rest[p.holds:]
	}
	data := make([]byte, 0, 8*len(rest))
	for _, h := range rest {
		data = binary.BigEndian.AppendUint64(data, h)
	}
	return state.Journal{Pages: names, Hashes: base64.StdEncoding.EncodeToString(data), Of: edges(low, front)}
}

// replay adds a document's journal to the memory; not one that another binary has left beside positions of its own.
func (l *Tracker) replay(ctx context.Context, doc *state.Document, load Load) error {
	l.journal = journal{}
	j := &doc.Late.Journal
	if !areEdges(j.Of, doc) {
		return nil
	}
	for _, name := range j.Pages {
		set, err := loadMemory(ctx, name, load)
		switch {
		case errors.Is(err, errMemory), errors.Is(err, state.ErrNotFound):
			l.warn(fmt.Sprintf("a part of the memory of delivered rows (%s) cannot be used: some rows of the last late_window are "+
				"delivered again, and none is lost: %v", name, err))
			continue
		case err != nil:
			return err
		}
		before := len(l.journal.hashes)
		for _, h := range set.hashes() {
			l.remember(h, 0)
		}
		l.journal.pages = append(l.journal.pages, page{name, len(l.journal.hashes) - before})
	}
	data, err := base64.StdEncoding.DecodeString(j.Hashes)
	if err != nil {
		return nil //nolint:nilerr // these rows come again
	}
	for ; len(data) >= 8; data = data[8:] {
		if h := binary.BigEndian.Uint64(data); h != 0 {
			l.remember(h, 0)
		}
	}
	l.journal.noted = len(l.journal.hashes)
	return nil
}

// remember adds a hash to the memory.
func (l *Tracker) remember(h uint64, stamp uint8) {
	l.remembered.add(h, stamp)
	l.journal.hashes = append(l.journal.hashes, h)
}
