package pollertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
)

// Table is a feed over rows in memory whose position is an index. It parks as the checkpointed feed does where the
// order key is the row's key: it keeps an entry for each rejected key, and retries it when due with the newest state of
// the row. Once a newer state was read, an older one is not shown any more.
//
// While a tick runs, its members are read and set under its lock. A settlement fails that leaves out a row, or settles
// one again.
type Table struct {
	sync.Mutex
	Rows        []string     // order keys, in source order; the id of an event is its row's index
	Broken      map[int]bool // rows that cannot be sent
	Ordering    poller.Ordering
	MaxAttempts int
	MaxParked   int
	Delay       time.Duration // until a retry
	Window      bool          // the next batch of a drained source is a window that closed: no events, but a position

	OpenTakes                     time.Duration
	FetchTakes, CommitTakes       time.Duration
	FetchErr, CommitErr, OtherErr error
	CheckErr                      error // what the clocks say of a right whose context is alive
	NoOther                       bool  // Other finds nothing
	OtherIs                       *int  // the row that Other always returns

	Position int                         // acknowledged rows
	Parked   map[string]*Parked          // by order key
	Newest   map[string]int              // by key: the row that a retry has read
	Dead     []string                    // ids given up
	Undated  bool                        // the cursor is no time
	Ages     []time.Duration             // by row, when it is fetched; nil: they are new
	Outcomes map[string][]poller.Outcome // by id
	Reasons  map[string]poller.Rejection // the last, by id
	Fetches  []time.Time                 // when each began
	Avoided  [][]string                  // what Other was asked to avoid
	Commits  []Commit                    // that were made
	Closed   int                         // sessions
	Peak     int                         // most batches handed out and not settled

	pending []int  // where the batches end that were handed out and not settled
	inOrder Parked // under ordering=source
	cancel  context.CancelCauseFunc
}

// Parked is an entry of a table for a rejected order key.
type Parked struct {
	ID       string
	Attempts int
	refused  bool // the last attempt counted
	due      time.Time
	out      bool // its retry is handed out
}

// Commit is a settlement that was stored.
type Commit struct {
	Events int
	Last   bool
}

// NewTable returns a feed over n rows, of [Keys].
func NewTable(n, distinct int) *Table { return TableOf(Keys(n, distinct)...) }

// TableOf returns a feed over rows with these order keys.
func TableOf(rows ...string) *Table {
	return &Table{Rows: rows, Broken: map[int]bool{}, Ordering: poller.OrderKey, MaxAttempts: 5, MaxParked: 1000,
		Delay: time.Second, Parked: map[string]*Parked{}, Newest: map[string]int{},
		Outcomes: map[string][]poller.Outcome{}, Reasons: map[string]poller.Rejection{}}
}

// End ends the right to deliver.
func (t *Table) End(cause error) {
	t.Lock()
	defer t.Unlock()
	t.cancel(cause)
}

// Open begins a session at the position.
func (t *Table) Open(ctx context.Context) (poller.Session, error) {
	if err := clock.Sleep(ctx, t.OpenTakes); err != nil {
		return nil, err
	}
	t.Lock()
	defer t.Unlock()
	right, cancel := context.WithCancelCause(context.Background())
	t.cancel, t.pending = cancel, nil
	for _, e := range t.Parked {
		e.out = false
	}
	return &tableSession{Table: t, frontier: t.Position, right: right}, nil
}

func (t *Table) event(i int) change.Event {
	key := fmt.Appendf(nil, "%q", t.Rows[i])
	e := change.Event{ID: fmt.Sprint(i), Key: key, OrderKey: key, Row: key, Cursor: Position(i + 1), Time: time.Now(),
		Undated: t.Undated}
	if t.Ages != nil {
		e.Time = e.Time.Add(-t.Ages[i])
	}
	if t.Broken[i] {
		e.Row, e.Broken = nil, errors.New("larger than max_row_bytes")
	}
	if t.Ordering == poller.OrderSource && t.inOrder.ID == e.ID {
		e.Attempts, e.Refused = t.inOrder.Attempts, t.inOrder.refused
	}
	return e
}

type tableSession struct {
	*Table
	frontier int
	batches  int
	ended    bool
	right    context.Context //nolint:containedctx // the right to deliver is what is handed out
}

func (s *tableSession) grant(b change.Batch) poller.Grant {
	s.batches++
	b.ID = fmt.Sprintf("batch_%d", s.batches)
	return poller.Grant{Batch: b, Context: s.right, Token: 7, Check: func() error {
		if s.CheckErr != nil {
			return s.CheckErr
		}
		return context.Cause(s.right)
	}}
}

// Next returns the retries that are due, or rows after those that were handed out.
func (s *tableSession) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	s.Lock()
	s.Fetches = append(s.Fetches, time.Now())
	s.Unlock()
	if err := clock.Sleep(ctx, s.FetchTakes); err != nil {
		return poller.Grant{}, err
	}
	s.Lock()
	defer s.Unlock()
	switch {
	case s.FetchErr != nil:
		return poller.Grant{}, s.FetchErr
	case s.ended:
		return poller.Grant{}, nil
	}
	if retries := s.retries(); len(retries) > 0 {
		return s.grant(change.Batch{Kind: change.Retry, From: Position(s.frontier), Events: retries, More: true}), nil
	}
	if s.Ordering == poller.OrderSource && s.inOrder.due.After(time.Now()) {
		return poller.Grant{}, nil
	}
	end := min(s.frontier+limit.Rows, len(s.Rows))
	b := change.Batch{From: Position(s.frontier), More: end < len(s.Rows)}
	for i := s.frontier; i < end; i++ {
		if s.Newest[s.Rows[i]] <= i {
			b.Events = append(b.Events, s.event(i))
		}
	}
	if len(b.Events) == 0 && s.Window {
		s.Window = false
		b.To = Position(1000)
		return s.grant(b), nil
	}
	s.frontier = end
	if len(b.Events) > 0 {
		s.pending = append(s.pending, end)
		s.Peak = max(s.Peak, len(s.pending))
	}
	return s.grant(b), nil
}

// retries returns the newest row of each parked key that is due.
func (s *tableSession) retries() (events []change.Event) {
	for i := s.frontier - 1; i >= 0; i-- {
		e := s.Table.Parked[fmt.Sprintf("%q", s.Rows[i])]
		if e == nil || e.out || e.due.After(time.Now()) {
			continue
		}
		e.out = true
		s.Newest[s.Rows[i]] = max(s.Newest[s.Rows[i]], i)
		event := s.event(s.Newest[s.Rows[i]])
		if e.ID == event.ID {
			event.Attempts, event.Refused = e.Attempts, e.refused
		}
		events = append(events, event)
	}
	return events
}

// Parked reports whether the key has an entry.
func (s *tableSession) Parked(orderKey []byte) bool {
	s.Lock()
	defer s.Unlock()
	return s.Table.Parked[string(orderKey)] != nil
}

// Other returns the first row after the position of a key that is neither to be avoided nor parked.
func (s *tableSession) Other(_ context.Context, avoid [][]byte) (poller.Grant, error) {
	s.Lock()
	defer s.Unlock()
	var keys []string
	for _, key := range avoid {
		keys = append(keys, string(key))
	}
	s.Avoided = append(s.Avoided, keys)
	switch {
	case s.OtherErr != nil:
		return poller.Grant{}, s.OtherErr
	case s.OtherIs != nil:
		return s.grant(change.Batch{Events: []change.Event{s.event(*s.OtherIs)}}), nil
	}
	for i := s.Position; i < len(s.Rows) && !s.NoOther; i++ {
		e := s.event(i)
		key := string(e.OrderKey)
		if s.Newest[s.Rows[i]] <= i && !slices.Contains(keys, key) && s.Table.Parked[key] == nil {
			return s.grant(change.Batch{Events: []change.Event{e}}), nil
		}
	}
	return poller.Grant{}, nil
}

// Close ends the right.
func (s *tableSession) Close(context.Context, *poller.Report) error {
	s.Lock()
	defer s.Unlock()
	s.Closed++
	s.cancel(context.Canceled)
	return nil
}
