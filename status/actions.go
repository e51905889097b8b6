package status

import "context"

// Reader gives the report. It asks the state store and the outboxes' databases, each poller within its own bound, and
// never fails as a whole: what could not be read stands among an output's Problems.
type Reader interface {
	Report(ctx context.Context) Report
}

// Operator carries out what the page's buttons ask for: the very functions behind the commands `state pause`, `state
// resume`, `outbox pause`, `outbox resume`, `deadletter replay` and `purge`, `outbox requeue` and `discard`. by is who
// asked, for the audit line. The text says what was done, in one sentence; the error says what to do, and is a *Refusal
// where nothing has failed. There are both where a part was done. output is "" for the only output; letters are ids,
// one at least.
type Operator interface {
	Pause(ctx context.Context, poller, output, by string) (string, error)
	Resume(ctx context.Context, poller, output, by string) (string, error)
	Replay(ctx context.Context, poller, output string, letters []string, by string) (string, error)
	Purge(ctx context.Context, poller, output string, letters []string, by string) (string, error)
	// Row reads the row of a dead letter as it was given up: JSON, or nothing where the record has none.
	Row(ctx context.Context, poller, output, letter, by string) ([]byte, error)
}

// Refusal is why an action cannot be done as things stand. Any other error is of a store or a database that did not do
// its part.
type Refusal struct {
	Err error
	// Missing: there is no such poller, output, document or event.
	Missing bool
}

// Error is that of Err.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }
