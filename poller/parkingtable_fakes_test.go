package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// parkingTable is a feed over rows in memory that parks as the checkpointed one does, where the order key is the row's
// key: an entry for each rejected key, retried when due with the newest state of its row. An older state is not seen
// any more once a newer one was read.
type parkingTable struct {
	mu          sync.Mutex
	rows        []string // order keys, in source order; the id of an event is its row's index
	broken      map[int]bool
	newest      map[string]int // by key: the row that a retry has read
	position    int
	parked      map[string]*parkingEntry
	dead        []string // ids given up
	maxAttempts int
	maxParked   int
	delay       time.Duration
	ordering    Ordering
	inOrder     parkingEntry // under ordering=source

	others    bool  // Other shows rows behind the frontier
	otherErr  error // of Other
	otherIs   int   // -1, or the row that Other always returns
	asked     [][]string
	closing   bool // the next batch of a drained source is a window that closed
	settledAt []change.Kind
	outcomes  map[string][]Outcome // by id
	reasons   map[string]Rejection // the last, by id
	settles   int
	cancel    context.CancelCauseFunc
}

type parkingEntry struct {
	id       string
	attempts int
	due      time.Time
	out      bool // its retry is handed out
}

func newParkingTable(rows []string) *parkingTable {
	return &parkingTable{rows: rows, parked: map[string]*parkingEntry{}, newest: map[string]int{}, maxAttempts: 5,
		maxParked: 1000, delay: time.Second, ordering: OrderKey,
		others: true, otherIs: -1, outcomes: map[string][]Outcome{}, reasons: map[string]Rejection{}}
}

func (l *parkingTable) Open(context.Context) (Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	right, cancel := context.WithCancelCause(context.Background())
	l.cancel = cancel
	for _, e := range l.parked {
		e.out = false
	}
	return &parkingSession{parkingTable: l, frontier: l.position, right: right}, nil
}

// end ends the right to deliver.
func (l *parkingTable) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel(cause)
}

type parkingSession struct {
	*parkingTable
	frontier int
	batches  int
	ended    bool
	right    context.Context
}

func (l *parkingTable) event(i int) change.Event {
	key := fmt.Appendf(nil, "%q", l.rows[i])
	e := change.Event{ID: fmt.Sprint(i), Key: key, OrderKey: key, Row: key, Cursor: position(i + 1), Time: time.Now()}
	if l.broken[i] {
		e.Row, e.Broken = nil, errors.New("larger than max_row_bytes")
	}
	if l.ordering == OrderSource && l.inOrder.id == e.ID {
		e.Attempts = l.inOrder.attempts
	}
	return e
}

func (s *parkingSession) grant(b change.Batch) Grant {
	s.batches++
	b.ID = fmt.Sprintf("batch_%d", s.batches)
	return Grant{Batch: b, Right: s.right, Token: 7, Check: func() error { return context.Cause(s.right) }}
}

func (s *parkingSession) Next(_ context.Context, limit Limit) (Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return Grant{}, nil
	}
	retries := change.Batch{Kind: change.Retry, From: position(s.frontier), More: true}
	for i := s.frontier - 1; i >= 0; i-- {
		e := s.parked[fmt.Sprintf("%q", s.rows[i])]
		if e == nil || e.out || e.due.After(time.Now()) {
			continue
		}
		e.out = true // by the newest row of its key
		s.newest[s.rows[i]] = max(s.newest[s.rows[i]], i)
		event := s.event(s.newest[s.rows[i]])
		if e.id == event.ID {
			event.Attempts = e.attempts
		}
		retries.Events = append(retries.Events, event)
	}
	if len(retries.Events) > 0 {
		return s.grant(retries), nil
	}
	if s.ordering == OrderSource && s.inOrder.due.After(time.Now()) {
		return Grant{}, nil
	}
	end := min(s.frontier+limit.Rows, len(s.rows))
	b := change.Batch{From: position(s.frontier), More: end < len(s.rows)}
	for i := s.frontier; i < end; i++ {
		if s.newest[s.rows[i]] > i {
			continue
		}
		b.Events = append(b.Events, s.event(i))
	}
	if len(b.Events) == 0 && s.closing {
		s.closing = false
		b.To = position(1000)
		return s.grant(b), nil
	}
	s.frontier = end
	return s.grant(b), nil
}

func (s *parkingSession) Parked(orderKey []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parked[string(orderKey)] != nil
}

func (s *parkingSession) Other(_ context.Context, avoid [][]byte) (Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, key := range avoid {
		keys = append(keys, string(key))
	}
	s.asked = append(s.asked, keys)
	if s.otherErr != nil {
		return Grant{}, s.otherErr
	}
	if s.otherIs >= 0 {
		return s.grant(change.Batch{Events: []change.Event{s.event(s.otherIs)}}), nil
	}
	for i := s.position; i < len(s.rows) && s.others; i++ {
		e := s.event(i)
		if s.newest[s.rows[i]] <= i && !slices.Contains(keys, string(e.OrderKey)) && s.parked[string(e.OrderKey)] == nil {
			return s.grant(change.Batch{Events: []change.Event{e}}), nil
		}
	}
	return Grant{}, nil
}

var errFull = &Fault{HandlerFailed, errors.New("max_parked is reached")}

func (s *parkingSession) Settle(_ context.Context, settlement Settlement) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(s.right); err != nil {
		return 0, &Fault{LostLease, err}
	}
	s.settles++
	s.ended = s.ended || settlement.Last
	n := 0
	for _, b := range settlement.Batches {
		s.settledAt = append(s.settledAt, b.Batch.Kind)
		for i := range b.Batch.Events {
			if b.Outcomes[i] == Deferred {
				s.ended = true
				return n, nil
			}
			if err := s.settleEvent(b, i); err != nil {
				s.ended = true
				return n, err
			}
			n++
		}
	}
	return n, nil
}

func (s *parkingSession) settleEvent(b Settled, i int) error {
	event, outcome := &b.Batch.Events[i], b.Outcomes[i]
	key := string(event.OrderKey)
	entry := s.parked[key]
	if outcome == Rejected {
		r, ok := b.Rejections[i]
		if !ok || r.Reason == "" || r.At.IsZero() {
			return &Fault{CommitFailed, fmt.Errorf("event %s is rejected without a reason: %+v", event.ID, r)}
		}
		s.reasons[event.ID] = r
	}
	attempts := event.Attempts + 1
	if b.Rejections[i].Cause == Unavailable {
		attempts = max(1, event.Attempts)
	}
	switch {
	case outcome == Rejected && s.ordering == OrderSource:
		s.inOrder = parkingEntry{id: event.ID, attempts: attempts, due: time.Now().Add(s.delay)}
		s.outcomes[event.ID] = append(s.outcomes[event.ID], outcome)
		if s.inOrder.attempts < s.maxAttempts {
			return &Fault{HandlerFailed, fmt.Errorf("attempt %d of %d", s.inOrder.attempts, s.maxAttempts)}
		}
		s.dead, s.inOrder = append(s.dead, event.ID), parkingEntry{}
	case outcome == Rejected:
		if entry == nil {
			if len(s.parked) == s.maxParked {
				return errFull
			}
			entry = &parkingEntry{}
			s.parked[key] = entry
		}
		*entry = parkingEntry{id: event.ID, attempts: attempts, due: time.Now().Add(s.delay)}
		if entry.attempts == s.maxAttempts {
			delete(s.parked, key)
			s.dead = append(s.dead, event.ID)
		}
	case outcome == Accepted && b.Batch.Kind == change.Retry:
		delete(s.parked, key)
	case outcome == Absorbed && entry == nil:
		if len(s.parked) == s.maxParked {
			return errFull
		}
		s.parked[key] = &parkingEntry{id: event.ID, due: time.Now()}
	}
	if s.ordering != OrderSource || outcome != Rejected {
		s.outcomes[event.ID] = append(s.outcomes[event.ID], outcome)
	}
	if b.Batch.Kind == change.Live {
		if _, err := fmt.Sscan(event.ID, &s.position); err != nil {
			return err
		}
		s.position++
	}
	return nil
}

func (s *parkingSession) Close(context.Context, *Report) error {
	s.cancel(context.Canceled)
	return nil
}
