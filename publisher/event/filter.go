package event

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// Filter chooses events; a zero member does not restrict.
type Filter struct {
	States []State
	// IDs are rows: the seq of an own table, the id of a mapped one. Keys are idempotency keys, which may look like a
	// seq and be another event's. With both, an event is chosen that is in either.
	IDs, Keys                []string
	AggregateType, Aggregate string
	EventType                string
	OlderThan, YoungerThan   time.Duration // by created_at
	Limit                    int
}

// Entry is one event for `rowrelay outbox list`, without its payload.
type Entry struct {
	ID             string    `json:"id"`
	AggregateType  string    `json:"aggregate_type"`
	AggregateID    string    `json:"aggregate_id"`
	EventType      string    `json:"event_type"`
	IdempotencyKey string    `json:"idempotency_key"`
	State          State     `json:"state"`
	Attempts       int       `json:"attempts"`
	CreatedAt      time.Time `json:"created_at,omitzero"` // zero: the table does not say
	NextAttempt    time.Time `json:"next_attempt_at,omitzero"`
	LastError      string    `json:"last_error,omitempty"`
}

// filterNames bounds the ids and keys of a filter.
const filterNames = 1000

// Check finds what no event can meet.
func (f *Filter) Check() error {
	for _, s := range f.States {
		if s != Delayed && !slices.Contains(States, s) {
			return fmt.Errorf("%w: there is no state %q: choose of PENDING, DELAYED, PUBLISHED, FAILED, WAITING, DEAD LETTER and DISCARDED",
				poller.ErrConfig, s)
		}
	}
	if n := len(f.IDs) + len(f.Keys); n > filterNames {
		return fmt.Errorf("%w: %d ids and keys are named: at most %d are taken at once", poller.ErrConfig, n,
			filterNames)
	}
	if slices.Contains(f.IDs, "") || slices.Contains(f.Keys, "") {
		return fmt.Errorf("%w: an id or a key is empty", poller.ErrConfig)
	}
	if f.Limit < 0 || f.OlderThan < 0 || f.YoungerThan < 0 {
		return fmt.Errorf("%w: limit and ages are not negative", poller.ErrConfig)
	}
	return nil
}

// Narrow restricts a filter to the states that a command takes: those where none is named, and named ones beside them.
func (f *Filter) Narrow(command string, named []State, states ...State) error {
	if len(f.States) == 0 {
		f.States = states
		return nil
	}
	for _, s := range f.States {
		if all := slices.Concat(states, named); !slices.Contains(all, s) {
			return fmt.Errorf("%w: %s takes events that are %v, not %s", poller.ErrConfig, command, all, s)
		}
	}
	return nil
}
