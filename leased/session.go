package leased

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
)

// session shares the changes of one tick.
type session struct {
	feed   *Feed
	cfg    *Config
	tables engine.LeaseTables
	origin poller.Origin

	letters poller.DeadLetterWriter // for Settle

	mu       sync.Mutex
	ended    bool
	batches  int
	hold     *holding // nil until something was taken
	waits    []change.Event
	places   map[string]place // of events that were handed out, by id
	warnings []string
	dead     []poller.DeadLetter
	failed   int // rows that this session left to be tried again
}

// place is where an event stands.
type place struct{ batch, row int }

// Next takes the next batch. While there is nothing to do it costs one round trip, and looks for no changes. Rows that
// failed before come in batches of their own.
func (s *session) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	begun := time.Now()
	s.mu.Lock()
	ended, waits := s.ended, s.waits
	s.waits = nil
	s.mu.Unlock()
	if ended {
		return poller.Grant{}, nil // what ended it has said why
	}
	if len(waits) > 0 {
		return s.grant(waits, change.Live, true, begun), nil
	}
	b, err := s.take(ctx, limit)
	if err != nil {
		return poller.Grant{}, err
	}
	var again, fresh []change.Event
	for i := range b.Rows {
		if b.Rows[i].Event.Attempts > 0 {
			again = append(again, b.Rows[i].Event)
		} else {
			fresh = append(fresh, b.Rows[i].Event)
		}
	}
	more := b.Told.Held >= limit.Rows || len(b.Unread) > 0
	switch {
	case len(again) > 0:
		s.mu.Lock()
		s.waits = fresh
		s.mu.Unlock()
		return s.grant(again, change.Retry, more || len(fresh) > 0, begun), nil
	case len(fresh) > 0:
		return s.grant(fresh, change.Live, more, begun), nil
	}
	return poller.Grant{Batch: change.Batch{More: more}}, nil
}

// take takes a batch into the holding, gives back what there was no room for, and settles what the settings leave out.
func (s *session) take(ctx context.Context, limit poller.Limit) (source.Batch, error) {
	b, err := s.inTables(ctx, func() (source.Batch, error) { return s.attempt(ctx, limit) })
	if err != nil {
		return b, err
	}
	err = s.judge(&b.Told)
	s.feed.mu.Lock()
	if s.feed.read = -1; err == nil && b.Told.Held < limit.Rows {
		s.feed.read = b.Told.Head
	}
	s.feed.mu.Unlock()
	if err != nil {
		return b, err
	}
	s.mu.Lock()
	for i := range b.Rows {
		s.places[b.Rows[i].Event.ID] = place{b.Number, b.Rows[i].Place}
	}
	s.mu.Unlock()
	if len(b.Left)+len(b.Unread) == 0 {
		return b, nil
	}
	var marks []engine.LeaseMark
	for _, n := range b.Left {
		marks = append(marks, engine.LeaseMark{Batch: b.Number, Place: n, Done: true})
	}
	for _, n := range b.Unread {
		marks = append(marks, engine.LeaseMark{Batch: b.Number, Place: n})
	}
	return b, s.hold.settle(ctx, marks)
}

// inTables takes a batch; where the tables have gone, it makes them and takes it then.
func (s *session) inTables(ctx context.Context, attempt func() (source.Batch, error)) (source.Batch, error) {
	b, err := attempt()
	if s.cfg.Changes.IsMissing(err) {
		if err := s.make(ctx); err != nil {
			return b, err
		}
		b, err = attempt()
	}
	if err != nil {
		return b, faultOf(poller.FetchFailed, err)
	}
	return b, nil
}

// attempt is one taking, with the holding's token: the first draws one.
func (s *session) attempt(ctx context.Context, limit poller.Limit) (b source.Batch, err error) {
	s.feed.mu.Lock()
	read := s.feed.read
	s.feed.mu.Unlock()
	t := source.Taking{Limit: limit, Read: read, TTL: s.cfg.TTL, Number: s.number}
	if s.hold != nil {
		return s.hold.take(ctx, t)
	}
	begun := time.Now()
	b, err = s.cfg.Changes.Take(ctx, t)
	if err == nil && b.Told.Held > 0 {
		s.mu.Lock()
		s.places = map[string]place{}
		s.hold = newHolding(s.cfg.Changes, b.Told.Token, b.Told.Held, s.cfg.TTL, begun)
		s.mu.Unlock()
	}
	return b, err
}

func (s *session) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches++
	return s.batches
}

// judge refuses what the server told, where nothing may be taken.
func (s *session) judge(t *engine.LeaseTold) error {
	switch {
	case !t.Looked:
		return nil
	case t.Foreign > 0:
		return &poller.Fault{Event: poller.LeaseAcquireFailed, Err: fmt.Errorf("somebody else holds %d leases in "+
			"[az_func].[%s], until %s by the server's clock: the Azure SQL trigger binding runs with the same function id %s. Stop that function: two "+
			"programs that share one id deliver each a part. When it is stopped, Rowrelay goes on once its leases have lapsed",
			t.Foreign, s.tables.Leases, t.Until, s.tables.Function)}
	case !t.Known:
		return s.unknown()
	case t.From < t.Valid:
		return gap("changes up to version %d are missing: the shared state stands at version %d, and changes are complete from "+
			"there on only. CHANGE_RETENTION has passed, or the table was truncated, or its change tracking was switched off and "+
			"on again. To go on with what there is: rowrelay state reset %s --to beginning; to read the whole table before: "+
			"docs/azure-sql-trigger.md#the-whole-table-first", t.Valid, t.From, s.cfg.Poller)
	case t.From > t.Head:
		return gap("the shared state stands at version %d, ahead of the database's %d: it was restored to an earlier state. To "+
			"go on from there: rowrelay state reset %s --to latest", t.From, t.Head, s.cfg.Poller)
	}
	return nil
}

// unknown says that the function's state has gone.
func (s *session) unknown() error {
	s.feed.mu.Lock()
	s.feed.made = false
	s.feed.mu.Unlock()
	return &poller.Fault{Event: poller.StateGone, Err: fmt.Errorf("[az_func].[GlobalState] has no row for the function "+
		"%s any more: somebody removed it. The next tick makes it anew, as source__start says", s.tables.Function)}
}

func gap(format string, args ...any) error {
	return &poller.Fault{Event: poller.SourceGap, Err: fmt.Errorf("%w: "+format, append([]any{poller.ErrGap}, args...)...)}
}

// grant is a batch under the holding's deadline.
func (s *session) grant(events []change.Event, kind change.Kind, more bool, begun time.Time) poller.Grant {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return poller.Grant{
		Batch: change.Batch{ID: s.batchID(now), Kind: kind, Events: events, More: more, Fetched: now,
			FetchTime: now.Sub(begun)},
		Context: s.hold.deadline.Context(), Token: uint64(s.hold.token), Origin: s.origin, Check: s.hold.deadline.Check,
		ByRow: true,
	}
}

// batchID names the last batch.
func (s *session) batchID(now time.Time) string {
	return fmt.Sprintf("batch_%s_%04d", now.UTC().Format("20060102_150405"), s.batches)
}

// Parked is false: a row that failed is in no batch before its next attempt.
func (s *session) Parked([]byte) bool { return false }

// Other returns none: every row that could be shown is either held or not this session's to show.
func (s *session) Other(context.Context, [][]byte) (poller.Grant, error) { return poller.Grant{}, nil }

// Close gives back what was not settled.
func (s *session) Close(ctx context.Context, report *poller.Report) error {
	s.mu.Lock()
	hold := s.hold
	s.ended = true
	report.Warnings = append(report.Warnings, s.warnings...)
	report.DeadLettered = append(report.DeadLettered, s.dead...)
	report.Parked = s.failed
	s.mu.Unlock()
	if hold == nil {
		return nil
	}
	report.Token = uint64(hold.token)
	if err := hold.end(ctx); err != nil && !errors.Is(err, source.ErrLeaseLost) {
		report.Warnings = append(report.Warnings, fmt.Sprintf("leases could not be given back; others wait until they lapse "+
			"(lease_ttl %s): %v", s.cfg.TTL, err))
	}
	return nil
}

func (s *session) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = append(s.warnings, text)
}

// make makes the tables. A leases table that has gone took with it what was processed above the function's state.
func (s *session) make(ctx context.Context) error {
	made, err := s.cfg.Changes.Make(ctx)
	if err != nil {
		return faultOf(poller.CheckpointLoadFailed, fmt.Errorf("%w (rowrelay check names missing rights)", err))
	}
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if made && f.made {
		s.warn("the leases table [az_func].[" + s.tables.Leases + "] was gone, and was made anew: changes that were " +
			"processed since the function's state moved last are delivered again")
	}
	if !f.made {
		s.warn("SQL trigger Leases table: [az_func].[" + s.tables.Leases + "]")
	}
	f.made, f.read = true, -1
	return nil
}
