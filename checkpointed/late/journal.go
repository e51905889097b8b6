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
	// pageMost is how many the page takes at least: half a MB. It takes an eighth of a larger memory. So a hash is
	// written some 16 times before the memory is stored: what a batch costs hardly grows with what is remembered.
	pageMost, pagePart = 16 * journalMost, 8
	// journalEvery is how often the document is written for it alone, and journalRows after how many rows at the latest.
	journalEvery = 50 * time.Millisecond
	journalRows  = 2000
)

// fits reports whether document and page take what is not in the stored memory.
func (l *Tracker) fits() bool {
	return len(l.journal.hashes) <= max(pageMost, l.remembered.len()/pagePart)
}

// due reports whether it is time to write the document for the journal alone.
func (j *journal) due() bool {
	return len(j.hashes)-j.noted >= journalRows || time.Since(j.at) >= journalEvery
}

// next returns what the next page is to hold; nil where none is to be written.
func (j *journal) next() []uint64 {
	if len(j.hashes)-j.paged <= journalMost {
		return nil
	}
	// Only what is new has to be sorted: an object is written in ascending order.
	old, fresh, merged := j.hashes[:j.paged], j.hashes[j.paged:], make([]uint64, 0, len(j.hashes))
	slices.Sort(fresh)
	for len(old) > 0 && len(fresh) > 0 {
		least := &old
		if fresh[0] < old[0] {
			least = &fresh
		}
		merged = append(merged, (*least)[0])
		*least = (*least)[1:]
	}
	merged = append(append(merged, old...), fresh...)
	copy(j.hashes, merged)
	return merged
}

// stored is the journal as the document keeps it, for the rows between these positions. The first paged are in the
// page.
func (j *journal) stored(paged int, low, front change.Cursor) state.Journal {
	if len(j.hashes) == 0 {
		return state.Journal{}
	}
	data := make([]byte, 0, 8*(len(j.hashes)-paged))
	for _, h := range j.hashes[paged:] {
		data = binary.BigEndian.AppendUint64(data, h)
	}
	return state.Journal{Page: j.page, Hashes: base64.StdEncoding.EncodeToString(data), Of: edges(low, front)}
}

// replay adds a document's journal to the memory; not one that another binary has left beside positions of its own.
func (l *Tracker) replay(ctx context.Context, doc *state.Document, load Load) error {
	l.journal = journal{}
	j := &doc.Late.Journal
	if !areEdges(j.Of, doc) {
		return nil
	}
	if j.Page != "" {
		page, err := loadMemory(ctx, j.Page, load)
		switch {
		case errors.Is(err, errMemory), errors.Is(err, state.ErrNotFound):
			l.warn(fmt.Sprintf("a part of the memory of delivered rows (%s) cannot be used: some rows of the last late_window are "+
				"delivered again, and none is lost: %v", j.Page, err))
			return nil
		case err != nil:
			return err
		}
		hashes := page.hashes()
		slices.Sort(hashes)
		for _, h := range hashes {
			l.remember(h, 0)
		}
		l.journal.page, l.journal.paged = j.Page, len(l.journal.hashes)
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
	if !l.remembered.has(h) {
		l.journal.hashes = append(l.journal.hashes, h)
	}
	l.remembered.add(h, stamp)
}
