package tracked

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/snapshot"
)

// Untold tells, where only inserts are wanted, which of them may not have been delivered: nil where others are, too.
func (t Table) Untold(within *Window, r change.Range) (func([]byte) bool, error) {
	if t.Plan.Tracked == nil || !t.Cfg.OnlyInserts() {
		return nil, nil
	}
	return t.sinceTold(within, r)
}

// Touched tells which writes that count may not have been delivered: nil where all do, and in a range with an end,
// whose statement asks for them.
func (t Table) Touched(within *Window, r change.Range) (func([]byte) bool, error) {
	if t.Plan.Tracked == nil || !t.Cfg.LeavesWrites() || within == nil {
		return nil, nil
	}
	return t.sinceTold(within, r)
}

// sinceTold tells which versions come after the last up to which all was delivered for certain.
func (t Table) sinceTold(within *Window, r change.Range) (func([]byte) bool, error) {
	told, err := t.lateTold(r)
	if err == nil && within != nil && (!r.Late || plan.Later(told, within.Told)) {
		told = within.Told
	}
	return func(version []byte) bool { return plan.Later(version, told) }, err
}

// lateTold is the version up to which a range says that all was delivered; nil where it does not.
func (t Table) lateTold(r change.Range) ([]byte, error) {
	if !r.Late {
		return nil, nil
	}
	w, err := t.Plan.Within(r.Told)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	return w.Told, nil
}

// ToldArg is the version up to which a range says that all was delivered, as the driver's argument; nil where it does
// not say.
func (t Table) ToldArg(r change.Range) (any, error) {
	told, err := t.lateTold(r)
	if err != nil || told == nil {
		return nil, err
	}
	return t.Plan.Dialect.Arg(&t.Plan.Sel.Columns[t.Plan.Tracked.Version], told)
}

// UntoldBetween is Untold of a window between snapshots; fresh says that it ends with the present.
func (t Table) UntoldBetween(w *snapshot.Window, fresh bool) func([]byte) bool {
	switch {
	case !t.Cfg.OnlyInserts():
		return nil
	case !fresh:
		return func(created []byte) bool { return plan.Later(created, nil) } // inserted under the triggers
	case w.Told == 0:
		return nil
	}
	return fromXID(w.Told)
}

// TouchedBetween is Touched of a window between snapshots.
func (t Table) TouchedBetween(w *snapshot.Window, fresh bool) func([]byte) bool {
	if !t.Cfg.LeavesWrites() || !fresh {
		return nil
	}
	since, told := InsertedIn(w), fromXID(w.Told)
	return func(version []byte) bool { return since(version) || w.Told > 0 && told(version) }
}

// InsertedIn tells what was inserted since a window's begin. A scan has none: then all is new that was inserted under
// the triggers.
func InsertedIn(w *snapshot.Window) func([]byte) bool {
	return func(created []byte) bool {
		xid, err := strconv.ParseUint(strings.Trim(string(created), `"`), 10, 64)
		return err == nil && xid > 0 && (w.Scanning || !w.Seen.Sees(xid))
	}
}

// fromXID tells which versions are no lower than a transaction.
func fromXID(least uint64) func([]byte) bool {
	return func(version []byte) bool {
		xid, err := strconv.ParseUint(strings.Trim(string(version), `"`), 10, 64)
		return err == nil && xid >= least
	}
}
