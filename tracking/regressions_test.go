package tracking_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// What the Azure SQL trigger binding loses or gets wrong, and what happens here. Its lease of a row lasts 60 s, it
// tries a row five times, and a row whose attempts are used up is ignored without a word.

var usual = settings{ttl: time.Minute, delay: time.Millisecond, maxAttempts: 5, batch: 100}

// until has an instance tick until the receiver has been told something.
func (r *rig) until(i instance, want string) {
	r.Helper()
	var got []string
	wanted := strings.Split(want, ", ")
	slices.Sort(wanted)
	for until := time.Now().Add(programtest.Patience); time.Now().Before(until); {
		i.Tick(r.Context())
		if told := r.to.take(); told != "" {
			got = append(got, strings.Split(told, ", ")...)
			slices.Sort(got) // keys are sent side by side
		}
		if slices.Equal(got, wanted) {
			return
		}
	}
	r.Fatalf("told %q, want %q; dead letters: %v", strings.Join(got, ", "), want, r.letters)
}

func inserts(from, to int) string {
	var told []string
	for i := from; i <= to; i++ {
		told = append(told, fmt.Sprintf("insert %d=1", i))
	}
	return strings.Join(told, ", ")
}

func (r *rig) insert(from, to int) {
	r.Helper()
	for i := from; i <= to; i++ {
		r.exec(fmt.Sprintf("INSERT INTO orders VALUES (%d, 1)", i))
	}
}

// L1: an outage of the destination over about 4 minutes loses rows there: each attempt during it counts. Here an outage
// counts against no row, however long it is.
func TestL1AnOutageLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	i := r.instance(usual)
	r.to.set(nil, true)
	for n := range 20 {
		r.insert(n+1, n+1)
		i.Tick(t.Context())
	}
	r.to.set(nil, false)
	for until := time.Now().Add(programtest.Patience); len(r.differ()) > 0 && time.Now().Before(until); {
		i.Tick(t.Context())
	}
	if d := r.differ(); len(d) > 0 || len(r.letters) > 0 {
		t.Errorf("LOST %d: %v; dead letters: %v", len(d), d, r.letters)
	}
}

// L2: a row that was poisoned and then corrected is never delivered there. Here its correction supersedes it.
func TestL2ACorrectedRowIsDelivered(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	i := r.instance(usual)
	r.to.set(func(e *change.Event) bool { return strings.Contains(string(e.Row), `"v":13`) }, false)
	r.insert(1, 2)
	r.exec("UPDATE orders SET v = 13 WHERE id = 1")
	r.until(i, "insert 2=1")
	for range 20 {
		i.Tick(t.Context())
	}
	r.exec("UPDATE orders SET v = 14 WHERE id = 1")
	r.until(i, "update 1=14")
}

// L3: a new version of a row inherits the attempts of the old one there. Here its attempts begin anew.
func TestL3ANewVersionHasItsOwnAttempts(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	patient := usual
	patient.maxAttempts = 3
	i := r.instance(patient)
	tried := map[string]int{}
	r.to.set(func(e *change.Event) bool {
		if keyOf(e) != "1" {
			return false
		}
		tried[e.ID]++
		return tried[e.ID] < 3 // each version is accepted at its last attempt
	}, false)
	r.insert(1, 2)
	for tries := 0; tries < 100 && len(tried) == 0; tries++ {
		i.Tick(t.Context())
	}
	r.exec("UPDATE orders SET v = 2 WHERE id = 1")
	for until := time.Now().Add(programtest.Patience); len(r.differ()) > 0 && time.Now().Before(until); {
		i.Tick(t.Context())
	}
	if d := r.differ(); len(d) > 0 || len(r.letters) > 0 {
		t.Errorf("LOST %v; dead letters: %v", d, r.letters)
	}
}

// L4: one bad row in a quiet batch of 100 loses the 99 good ones there, after five attempts. Here it is set aside.
func TestL4ABadRowTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	i := r.instance(usual)
	r.to.set(func(e *change.Event) bool { return keyOf(e) == "50" }, false)
	r.insert(1, 100)
	i.Tick(t.Context())
	if n := len(strings.Split(r.to.take(), ", ")); n != 99 {
		t.Errorf("%d of the 99 good rows were delivered", n)
	}
	r.to.set(nil, false)
	r.until(i, "insert 50=1")
}

// L5: attempts are counted when a row is acquired there, so that five crashes drop it. Here a crash counts for nothing.
// D3: what is delivered again after a crash has no key there that it could be told by. Here it has its id.
func TestL5CrashesDropNothingD3RepetitionsHaveOneID(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	r := newRig(t, "sqlite")
	r.insert(1, 3)
	brief := usual
	brief.ttl = 300 * time.Millisecond
	for range 7 {
		i := r.instance(brief)
		r.to.set(func(*change.Event) bool { i.dieLater(); return false }, false) // delivered, and not committed
		for until := time.Now().Add(programtest.Patience); !i.isDead() && time.Now().Before(until); {
			i.Tick(t.Context())
		}
	}
	r.to.set(nil, false)
	i := r.instance(brief)
	for until := time.Now().Add(programtest.Patience); time.Now().Before(until); {
		if report := i.Tick(t.Context()); report.Rows > 0 {
			break
		}
	}
	if told := r.to.take(); told != inserts(1, 3) || r.to.repeated < 7*3 || len(r.letters) > 0 {
		t.Errorf("told %q, %d repeated, dead letters %v", told, r.to.repeated, r.letters)
	}
}

// D1: the operation is relative to a version that lags there, so that an update is told as an insert. Here it is
// relative to the position that the change was read after, also where another row waits for its retry, and where more
// rows were changed than a batch holds.
func TestD1AnUpdateIsNoInsert(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "sqlite", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine)
			small := usual
			small.batch, small.maxAttempts = 2, 10_000
			i := r.instance(small)
			r.to.set(func(e *change.Event) bool { return keyOf(e) == "9" }, false)
			r.insert(9, 9)
			i.Tick(t.Context())
			r.insert(1, 5)
			r.until(i, inserts(1, 5))
			r.exec("UPDATE orders SET v = 2 WHERE id <= 3")
			r.until(i, "update 1=2, update 2=2, update 3=2")
			r.insert(6, 8)
			r.exec("UPDATE orders SET v = 2 WHERE id >= 5 AND id < 8")
			r.until(i, "insert 8=1, update 5=2, insert 6=2, insert 7=2")
			r.to.set(nil, false)
			r.until(i, "insert 9=1")
		})
	}
}

// D7: times are the server's local ones there, so that daylight saving moves leases by an hour. Here no version depends
// on a session's zone.
func TestD7NoVersionIsLocalTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql")
	i := r.instance(usual)
	conn, err := r.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for n, zone := range []string{"+05:00", "-11:00", "+13:00", "+00:00"} {
		testenv.ExecOn(t, conn, []string{"SET time_zone = '" + zone + "'", fmt.Sprintf("INSERT INTO orders VALUES (%d, 1)",
			n+1)}...)
		r.until(i, inserts(n+1, n+1))
	}
}

// TestOrderANewerChangeIsNotOvertaken: rows that failed are overtaken by later changes there. Here a change of a parked
// key waits, and what comes at its retry is the newest state, a delete included; a key that was inserted again is not
// told as deleted.
func TestOrderANewerChangeIsNotOvertaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	i := r.instance(usual)
	r.insert(1, 2)
	r.until(i, inserts(1, 2))
	r.to.set(func(e *change.Event) bool { return e.Op == change.Delete }, false)
	r.exec("DELETE FROM orders WHERE id = 1", "UPDATE orders SET v = 2 WHERE id = 2")
	r.until(i, "update 2=2")
	r.to.set(nil, false)
	r.until(i, "delete 1")

	r.to.set(func(e *change.Event) bool { return e.Op == change.Delete }, false)
	r.exec("DELETE FROM orders WHERE id = 2")
	i.Tick(t.Context())
	r.exec("INSERT INTO orders VALUES (2, 7)")
	r.to.set(nil, false)
	r.until(i, "insert 2=7")
	for range 5 {
		i.Tick(t.Context())
	}
	if told := r.to.take(); told != "" || len(r.letters) > 0 {
		t.Errorf("told %q, dead letters %v", told, r.letters)
	}
}

// TestALateInsertIsToldWithoutUpdates: a row that is inserted and written again by a transaction which commits late is
// an insert, also for a poller that wants no updates: whether others were read beyond its insert, or beyond both.
func TestALateInsertIsToldWithoutUpdates(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "mysql"} {
		for _, beyond := range []string{"its insert", "both"} {
			t.Run(engine+" "+beyond, func(t *testing.T) {
				r := newRig(t, engine)
				s := usual
				s.operations = []string{"insert"}
				i := r.instance(s)
				tx := testenv.Begin(t, r.db)
				write := func(text string) { t.Helper(); testenv.ExecOn(t, tx, text) }
				write("INSERT INTO orders VALUES (1, 1)")
				if beyond == "both" {
					write("UPDATE orders SET v = 2 WHERE id = 1")
				}
				r.insert(2, 2)
				r.until(i, "insert 2=1")
				if beyond != "both" {
					write("UPDATE orders SET v = 2 WHERE id = 1")
				}
				testenv.Commit(t, tx)
				r.until(i, "insert 1=2")
				r.exec("UPDATE orders SET v = 3 WHERE id = 2")
				r.insert(3, 3)
				r.until(i, "insert 3=1")
			})
		}
	}
}
