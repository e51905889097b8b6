package status

import "context"

// Reader gives the report. It asks the state store and the outboxes' databases, each poller within its own bound, and never
// fails as a whole: what could not be read stands among an output's Problems.
type Reader interface {
	Report(ctx context.Context) Report
}

// Operator carries out what the page's buttons ask for: the very functions behind the commands `state pause`, `state resume`,
// `outbox pause`, `outbox resume`, `deadletter replay` and `outbox requeue`. by is who asked, for the audit line. The text says what
// was done, in one sentence; the error says what to do. output is "" for the only output.
type Operator interface {
	Pause(ctx context.Context, poller, output, by string) (string, error)
	Resume(ctx context.Context, poller, output, by string) (string, error)
	Replay(ctx context.Context, poller, output, letter, by string) (string, error)
}
