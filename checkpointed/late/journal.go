package late

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// journal holds what was remembered since the object of the memory was stored, in the order in which it was. A commit
// stores it in the document, so that a batch that is settled need not write the whole memory.
type journal struct {
	hashes []uint64
	forgot int       // hashSet.forgotten of the stored object
	noted  time.Time // when it was stored last
}

const (
	// journalMost is how many hashes the document takes: 44 KB.
	journalMost = 4096
	// journalEvery is how often the document is written for it alone.
	journalEvery = 50 * time.Millisecond
	// saveCost is how much longer than that the memory is kept, for each hash in it, where the document does not take
	// what is new: 8 bytes are written in 2 µs, which is 4 MB a second.
	saveCost = 2 * time.Microsecond
)

// fits reports whether the document takes what is not in the stored object.
func (j *journal) fits() bool { return len(j.hashes) <= journalMost }

// since is the time between two stores of the memory.
func (l *Tracker) storeEvery() time.Duration {
	if l.journal.fits() {
		return l.saveEvery
	}
	return min(l.saveEvery, journalEvery+time.Duration(l.remembered.len())*saveCost)
}

// stored is the journal as the document keeps it, for the rows between these positions.
func (j *journal) stored(low, front change.Cursor) state.Journal {
	hashes := j.hashes[:min(len(j.hashes), journalMost)]
	if len(hashes) == 0 {
		return state.Journal{}
	}
	data := make([]byte, 0, 8*len(hashes))
	for _, h := range hashes {
		data = binary.BigEndian.AppendUint64(data, h)
	}
	return state.Journal{Hashes: base64.StdEncoding.EncodeToString(data), Of: edges(low, front)}
}

// replay adds a document's journal to the memory; not one that another binary has left beside positions of its own.
func (l *Tracker) replay(doc *state.Document) {
	l.journal = journal{}
	if doc.Late.Journal.Of != edges(doc.Checkpoint.Cursor, doc.Late.Frontier) {
		return
	}
	data, err := base64.StdEncoding.DecodeString(doc.Late.Journal.Hashes)
	if err != nil {
		return // these rows come again
	}
	for ; len(data) >= 8; data = data[8:] {
		if h := binary.BigEndian.Uint64(data); h != 0 {
			l.remember(h, 0)
		}
	}
}

// remember adds a hash to the memory.
func (l *Tracker) remember(h uint64, stamp uint8) {
	if !l.remembered.has(h) {
		l.journal.hashes = append(l.journal.hashes, h)
	}
	l.remembered.add(h, stamp)
}
