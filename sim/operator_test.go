package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/state"
)

// operator is the person at the command line. Every command is a process of its own, whose calls of the store fail like
// any other's; one that fails is given again, or not.
type operator struct {
	w    *world
	out  *output
	busy bool
	// tidied is when a command was given last, once faults have stopped.
	tidied time.Time
	// backfill is the one that was ordered last, with what it has to bring.
	backfill string
	since    time.Time
	rows     []*version
	life     string // of the database
	broken   uint64 // tokens up to this one were broken
}

// act gives a command, or restores the database from a copy.
func (o *operator) act() {
	w := o.w
	switch {
	case o.busy || w.doc.PollerName == "":
	case w.table.copied && w.chance(w.pro.Restore):
		w.table.restore()
	case w.chance(w.pro.Restore):
		w.table.backUp()
	case o.gap():
		o.mendGap()
	case o.missed() && w.chance(0.7):
		o.mendMissed()
	case w.doc.Paused != nil:
		o.resume()
	case o.mode():
		o.acceptMode()
	case w.chance(w.pro.Replays):
		if w.chance(0.6) {
			o.replay()
		} else {
			o.purge()
		}
	case w.pro.Tracked && w.chance(0.2):
		o.wholeTable()
	default:
		switch n := w.rng.IntN(10); {
		case n < 3:
			o.pause()
		case n < 5:
			o.breakLease()
		case n < 8 && w.doc.Backfill == nil:
			o.startBackfill()
		default:
			o.reset()
		}
	}
}

// tidy takes back what hinders, once faults have stopped. It reports whether it did something.
func (o *operator) tidy() bool {
	switch {
	case o.busy || time.Since(o.tidied) < 2*time.Second:
		return false
	case o.gap():
		o.mendGap()
	case o.missed() && !o.w.pro.Resync:
		o.mendMissed()
	case o.w.doc.Paused != nil:
		o.resume()
	case o.mode():
		o.acceptMode()
	default:
		return false
	}
	o.tidied = time.Now()
	return true
}

// gap reports whether the database is not the one that the checkpoint is of.
func (o *operator) gap() bool {
	known := o.w.doc.Checkpoint.Incarnation
	return known != "" && known != o.w.table.incarnation
}

// command runs a command in a process of its own.
func (o *operator) command(what string, do func(context.Context, *process, *admin.Document) error) {
	w := o.w
	w.serials++
	w.tally.Operators++
	p := &process{w: w, out: o.out, serial: w.serials, name: fmt.Sprintf("op%d", w.serials), human: true, set: w.set}
	p.ctx, p.kill = context.WithCancel(context.Background())
	w.lives = append(w.lives, p)
	o.busy = true
	w.say(p.name, "%s", what)
	go func() {
		err := do(p.ctx, p, p.document())
		p.ask(context.Background(), &call{what: "command ends", resolve: func(*call) bool {
			o.busy = false
			w.say(p.name, "%s: %s", what, verdict(err))
			return true
		}})
	}()
}

func (o *operator) pause() {
	o.command("pause", func(ctx context.Context, p *process, d *admin.Document) error {
		plan, err := d.Pause(ctx)
		return p.done(ctx, plan, err, nil)
	})
}

func (o *operator) resume() {
	o.command("resume", func(ctx context.Context, p *process, d *admin.Document) error {
		plan, err := d.Resume(ctx)
		return p.done(ctx, plan, err, nil)
	})
}

func (o *operator) breakLease() {
	o.command("break the lease", func(ctx context.Context, p *process, d *admin.Document) error {
		move, err := d.Reset(ctx, &admin.Reset{BreakLease: true})
		if err != nil {
			return err
		}
		return p.done(ctx, &move.Plan, nil, nil)
	})
}

func (o *operator) startBackfill() {
	w := o.w
	rate := 0
	if w.chance(0.5) {
		rate = 1 + w.rng.IntN(5)
	}
	// The range is from the beginning up to the checkpoint, or a part of it.
	to, err := placeOf(w.doc.Checkpoint.Cursor)
	if err != nil || !to.begun {
		return
	}
	var from place
	switch {
	case w.chance(0.5):
	case w.pro.Windows:
		from = place{begun: true, window: true, seen: w.rng.IntN(to.seen + 1)}
	default:
		from = place{begun: true, at: pos{w.rng.Int64N(to.at.value + 1), last}}
	}
	rows := w.table.between(from, to)
	if len(rows) == 0 {
		return
	}
	o.command(fmt.Sprintf("backfill %d rows after %s up to %s", len(rows), from, to),
		func(ctx context.Context, p *process, d *admin.Document) error {
			started, err := d.Backfill(ctx, &admin.Rows{From: from.to(), To: to.to(), Rate: rate})
			if err != nil {
				return err
			}
			return p.done(ctx, &started.Plan, nil, nil)
		})
}

// reset moves the position: to the beginning, back, or forward over rows, which are then skipped on purpose.
func (o *operator) reset() {
	w := o.w
	var to place
	if n := len(w.table.rows); n > 0 && w.chance(0.7) {
		if v := w.table.rows[w.rng.IntN(n)].cur; v != nil {
			to = place{begun: true, at: v.pos()}
		}
		if w.pro.Windows {
			to = place{begun: true, window: true, seen: w.rng.IntN(w.table.commits + 1)}
		}
	}
	if safe, open := w.table.safe(); open && w.pro.LateCommit && to.at.compare(safe) > 0 {
		to = place{} // a backfill up to there would end before rows that are not shown yet
	}
	o.moveTo(to, "reset to")
}

func (o *operator) moveTo(to place, what string) {
	w := o.w
	r := &admin.Reset{To: to.to(), Parked: "keep"}
	var intent func()
	if w.pro.Replays > 0 && w.chance(0.3) {
		r.Parked, intent = "drop", func() { w.drop(w.parked) }
	}
	o.command(what+" "+to.String(), func(ctx context.Context, p *process, d *admin.Document) error {
		move, err := d.Reset(ctx, r)
		if err != nil {
			return err
		}
		return p.done(ctx, &move.Plan, nil, intent)
	})
}

// mendGap goes on after a restore: from the beginning, or at the stored position, which accepts whatever the gap holds.
func (o *operator) mendGap() {
	if o.w.chance(0.5) {
		o.moveTo(place{}, "start over at")
		return
	}
	o.command("accept the gap", func(ctx context.Context, p *process, d *admin.Document) error {
		plan, err := d.AcceptGap(ctx)
		return p.done(ctx, plan, err, nil)
	})
}

// commanded looks at a document that an operator's command has written.
func (o *operator) commanded(p *process, was *state.Document) {
	w := o.w
	now := &w.doc
	switch {
	case now.Lease.LeaseID != was.Lease.LeaseID:
		w.acquired(p, was)
	case now.Lease.FencingToken != was.Lease.FencingToken:
		o.broken = now.Lease.FencingToken
		if now.Lease.OwnerID != "" {
			w.fail("a broken lease still has an owner")
		}
	}
	if p.intent != nil && now.Parked != was.Parked {
		p.intent()
		p.intent = nil
	}
	from, err := placeOf(was.Checkpoint.Cursor)
	to, err2 := placeOf(now.Checkpoint.Cursor)
	if err != nil || err2 != nil {
		w.fail("the position cannot be read: %v, %v", err, err2)
		return
	}
	if now.Checkpoint.Incarnation != was.Checkpoint.Incarnation || !now.Checkpoint.Cursor.Equal(was.Checkpoint.Cursor) {
		w.table.giveUpUnknown()
	}
	if b := now.Backfill; b != nil && b.Whole && (was.Backfill == nil || was.Backfill.ID != b.ID) {
		// what the table has comes with it
	} else if order, err := from.compare(to); err != nil || order < 0 ||
		now.Checkpoint.Incarnation != was.Checkpoint.Incarnation {
		w.table.skipTo(to)
	}
	if front, err := placeOf(now.Late.Frontier); err == nil && front.begun &&
		now.Checkpoint.Incarnation != was.Checkpoint.Incarnation {
		w.table.skipTo(front) // an accepted gap gives up what is written again behind the rows that were delivered
	}
	if b := now.Backfill; b != nil && (was.Backfill == nil || was.Backfill.ID != b.ID) {
		o.backfill, o.since, o.life = b.ID, time.Now(), w.table.incarnation
		low, err := placeOf(b.From)
		high, err2 := placeOf(b.To)
		if err != nil || err2 != nil {
			w.fail("the backfill's range cannot be read: %v, %v", err, err2)
			return
		}
		o.rows = w.table.between(low, high)
	}
}

// release takes a row that was let go while it was parked from what the backfill has to bring, where that has passed
// it: it had handed the row to the parked ones.
func (o *operator) release(key []byte) {
	b := o.w.doc.Backfill
	if b == nil || b.ID != o.backfill {
		return
	}
	if at, err := placeOf(b.At); err == nil {
		o.rows = slices.DeleteFunc(o.rows, func(v *version) bool {
			return string(v.event.Key) == string(key) && at.passed(v)
		})
	}
}

// backfilled checks that a backfill which has ended has sent again what it was to.
func (o *operator) backfilled(was, now *state.Document) {
	if was.Backfill == nil || was.Backfill.ID != o.backfill || now.Backfill != nil || o.life != o.w.table.incarnation {
		return
	}
	for _, v := range o.rows {
		if v.row.cur == v && !v.purged && !o.w.waits(v) && !o.w.letters.ids[v.event.ID] &&
			o.w.sink.ruled.last[v.event.ID].Before(o.since) {
			o.w.fail("the backfill has ended, and did not bring row %d rev %d (%s)", v.row.key, v.rev, o.w.id(v.event.ID))
		}
	}
}
