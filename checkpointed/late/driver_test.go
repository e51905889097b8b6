package late

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// driver drives the component as a session does, over a document and objects in memory. It delivers in order, checks
// that no event is in flight twice, and can crash at each step.
type driver struct {
	t        *testing.T
	table    *latetest.Table
	source   database // of the fetches: table, unless a test puts another before it
	rng      *rand.Rand
	cfg      Config
	mode     Mode
	doc      state.Document
	objects  map[string][]byte
	puts     int
	written  int           // bytes of objects
	storeOff time.Duration // of the store's clock
	beside   bool          // commits say more of their batches

	late   *Tracker
	dates  *Dates // of the table's positions, where its cursor is a time
	line   []change.Batch
	flying map[string]bool
	leased bool // a session takes the lease with its first events
	limit  poller.Limit

	last      map[int]string // text delivered last, by key
	delivered map[string]int // by event id
	versions  map[int]int    // events delivered, by key
	repeats   int
	inverted  int // delivered before one of its order key that was written before it
	commits   int
	crashes   int
	late0     int           // found by sweeps
	report    poller.Report // the last one
	warned    []string
	refused   error // by source__future_rows=fail
}

func newDriver(t *testing.T, table *latetest.Table, rng *rand.Rand, mode Mode) *driver {
	d := &driver{
		t: t, table: table, source: table, rng: rng, mode: mode, objects: map[string][]byte{},
		limit: poller.Limit{Rows: 7, Bytes: 1 << 20},
		cfg:   Config{Address: "orders", Database: table, Window: 24 * time.Second, Limit: 4 * time.Second, Memory: 100_000},
		last:  map[int]string{}, delivered: map[string]int{}, versions: map[int]int{},
	}
	d.doc.Lease.TTL = 9 * time.Second
	d.start()
	return d
}

// start begins a process, and a session in it.
func (d *driver) start() {
	d.late = New(d.cfg)
	d.open()
}

// crash ends the process without a word.
func (d *driver) crash() {
	d.crashes++
	d.start()
}

// open begins a session.
func (d *driver) open() {
	d.t.Helper()
	d.line, d.flying, d.leased = nil, map[string]bool{}, false
	from := Source{d.mode, d.dates, d.table.Groups > 0}
	err := d.late.Adopt(context.Background(), &d.doc, time.Now().Add(d.storeOff), from,
		func(_ context.Context, name string) ([]byte, error) {
			data, ok := d.objects[name]
			if !ok {
				return nil, fmt.Errorf("reading %s: %w", name, state.ErrNotFound)
			}
			return data, nil
		})
	if err != nil {
		d.t.Fatal(err)
	}
}

// next makes one step; it returns whether there is more.
func (d *driver) next() bool {
	d.t.Helper()
	step := d.late.Next(context.Background())
	if step.Idle {
		return false
	}
	page := step.Page
	if page == nil {
		read, err := d.source.Fetch(context.Background(), step.Range, d.limit)
		if err != nil {
			d.t.Fatal(err)
		}
		page = &read
	}
	batch, err := d.late.Fetched(step, page)
	if err != nil {
		d.refused = err
	}
	for _, e := range batch.Events {
		if d.flying[e.ID] {
			d.t.Errorf("event %s of key %s is in flight twice", e.ID, e.Key)
		}
		d.flying[e.ID] = true
	}
	if len(batch.Events) > 0 {
		d.line, d.leased = append(d.line, batch), true
	}
	return batch.More
}

// settle delivers and settles the first n events of the oldest batch, and commits as lands says: "", "never", or
// "unseen".
func (d *driver) settle(n int, final bool, lands string) {
	d.t.Helper()
	if len(d.line) > 0 {
		b := d.line[0]
		n = min(n, len(b.Events))
		for _, e := range b.Events[:n] {
			d.accept(&e)
			delete(d.flying, e.ID)
		}
		d.late.Settled(&b, n)
		if n == len(b.Events) {
			d.line = d.line[1:]
		} else {
			final = true
		}
	}
	c := d.late.Commit(final, d.beside)
	if c.Due {
		if c.Object != nil {
			d.puts++
			name := fmt.Sprintf("memory-%d", d.puts)
			c.Named(name)
			d.objects[name] = c.Object
			d.written += len(c.Object)
		}
		if !c.From.Equal(d.doc.Checkpoint.Cursor) {
			d.t.Fatalf("a commit from %s, stored is %s", c.From, d.doc.Checkpoint.Cursor)
		}
		if lands == "never" {
			d.crash()
			return
		}
		d.commits++
		d.doc.Checkpoint.Cursor = c.To
		if c.Late != nil {
			for name := range d.objects {
				if name != c.Late.Memory.Object && !slices.Contains(c.Late.Journal.Pages, name) {
					delete(d.objects, name)
				}
			}
			d.doc.Late = *c.Late
		}
		if lands == "unseen" {
			d.crash()
			return
		}
		d.late.Stored(c)
	}
	if final {
		d.close()
		d.open()
	}
}

// close reads the report.
func (d *driver) close() {
	d.report = poller.Report{}
	d.late.Report(&d.report)
	d.late0 += d.report.Late
	d.warned = append(d.warned, d.report.Warnings...)
}

func (d *driver) accept(e *change.Event) {
	p := latetest.PositionOf(e.Cursor)
	if d.delivered[e.ID]++; d.delivered[e.ID] > 1 {
		d.repeats++
	}
	d.inOrder(e)
	d.versions[p.Key]++
	d.last[p.Key] = string(e.Row)
}

// inOrder holds an event that is delivered for the first time against what was committed before its transaction began.
func (d *driver) inOrder(e *change.Event) {
	p := latetest.PositionOf(e.Cursor)
	row, ok := d.table.Rows[p.Key]
	if d.table.Groups == 0 || d.delivered[e.ID] > 1 || !ok || row.Cursor != p.Value {
		return
	}
	for key, before := range d.table.Rows {
		if before.Ended >= row.Began || key%d.table.Groups != p.Key%d.table.Groups { // cheap, and mostly so
			continue
		}
		if b := d.table.Event(key, before); d.table.Chosen(key) && d.delivered[b.ID] == 0 {
			d.inverted++
		}
	}
}

// drain works until nothing is left to do for now, as a tick does: at its end all is settled and stored.
func (d *driver) drain() {
	d.t.Helper()
	for i := 0; ; i++ {
		more := d.next()
		for len(d.line) > 1 || !more && len(d.line) > 0 {
			d.settle(1<<20, !more && len(d.line) == 1, "")
		}
		if !more {
			break
		}
		if i > 1_000_000 {
			d.t.Fatal("a tick does not end")
		}
	}
	if d.leased || d.late.Due() {
		d.settle(0, true, "") // what Close does under a lease
		return
	}
	d.close()
	d.open()
}

// quiet runs ticks each second until the window has closed, for a while at most.
func (d *driver) quiet(atMost time.Duration) {
	d.t.Helper()
	for end := time.Now().Add(atMost); time.Now().Before(end); time.Sleep(time.Second) {
		d.drain()
		if d.drain(); d.late.low.Equal(d.late.front) && d.late.heldSince.IsZero() {
			return
		}
	}
}

// lost returns the keys whose newest state was not delivered last.
func (d *driver) lost() []int {
	var lost []int
	for key, row := range d.table.Rows {
		if e := d.table.Event(key, row); d.table.Chosen(key) && d.last[key] != string(e.Row) {
			lost = append(lost, key)
		}
	}
	return lost
}

// database is what the driver reads from.
type database interface {
	Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error)
	Horizon(ctx context.Context) (change.Horizon, error)
}
