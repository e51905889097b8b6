package production

import (
	"errors"
	"fmt"
	"testing"
)

func TestOutputItems(t *testing.T) { try(t, outputCases()) }

func outputCases() []verdictCase {
	denied := fmt.Errorf("HTTP 403 AuthorizationPermissionMismatch: %w", ErrDenied)
	queue := func(err error) func(*Facts, *Poller) {
		return func(_ *Facts, p *Poller) { p.Queues["dead of Q"] = err }
	}
	letters := func(l Letters) func(*Facts, *Poller) { return func(_ *Facts, p *Poller) { p.Letters = l } }
	some, no := int64(6), int64(0)
	unsigned := "pollers__orders__output__secret="
	stdout := []string{"pollers__orders__output__kind=stdout", "pollers__orders__output__url=", unsigned}
	return []verdictCase{
		{"idempotent", nil, nil, CannotTell, "https://hooks.example.com"},
		{"signature", nil, nil, OK, "signed"},
		{"signature", stdout, nil, NoMatter, ""},
		{"signature", []string{unsigned}, nil, ToMend, "no output__secret"},
		{"signature", []string{unsigned, "pollers__orders__output__headers__x_functions_key=k"}, nil, OK, "the header"},
		{"signature", []string{"pollers__orders__output__url=https://hooks.example.com/x?code=1"}, nil, ToMend, "code="},
		{"queues", nil, nil, NoMatter, "deadletters/shop/orders/"},
		{"queues", nil, func(_ *Facts, p *Poller) { p.Queues, p.Broken = nil, "the poller has a fault: see settings" }, CannotTell, "has a fault"},
		{"queues", deadQueue, queue(nil), OK, "dead of Q"},
		{"queues", deadQueue, queue(denied), CannotTell, "HTTP 403"},
		{"queues", deadQueue, queue(errors.New("HTTP 404 QueueNotFound")), ToMend, "QueueNotFound"},
		{"queues", deadQueue, both(queue(denied), func(_ *Facts, p *Poller) { p.Queues["events of Q"] = errors.New("HTTP 404 QueueNotFound") }), ToMend, "events of Q"},
		{"attempts", nil, nil, OK, "then deadletters/shop/orders/"},
		{"attempts", []string{"pollers__orders__max_attempts=1"}, nil, ToMend, "1 attempt"},
		{"attempts", []string{"pollers__orders__retry_delays=1s"}, nil, ToMend, "over 4s"},
		{"held", nil, nil, OK, "nothing"},
		{"held", nil, func(_ *Facts, p *Poller) { p.Broken = "the poller has a fault: see settings" }, CannotTell, "has a fault"},
		{"held", nil, letters(Letters{Stored: 2}), ToMend, "2 dead letter"},
		{"held", nil, letters(Letters{StoredErr: errors.New("HTTP 500")}), CannotTell, "HTTP 500"},
		{"held", deadQueue, letters(Letters{Queued: &some}), ToMend, "6 dead letter"},
		{"held", deadQueue, letters(Letters{Queued: &no}), OK, ""},
		{"held", deadQueue, letters(Letters{QueuedErr: denied}), CannotTell, "is not shown"},
		{"held", deadQueue, nil, CannotTell, "is not shown"},
		{"held", nil, func(_ *Facts, p *Poller) { p.Outputs = []Output{{Parked: 4, Paused: "by x"}} }, ToMend, "paused by x, 4 parked"},
		{"held", []string{outboxMode}, func(_ *Facts, p *Poller) { p.Outbox.Dead = 5 }, ToMend, "5 dead letter"},
		{"held", []string{outboxMode}, func(_ *Facts, p *Poller) { p.Outbox.Paused, p.Outbox.Failed = "by x", 3 }, ToMend, "paused by x, 3 failed"},
		{"ordering", nil, nil, OK, "by the key"},
		{"ordering", []string{"pollers__orders__source__order_key=customer"}, nil, OK, "by customer"},
		{"ordering", []string{outboxMode}, nil, OK, "by the aggregate"},
		{"ordering", []string{"pollers__orders__ordering=source"}, nil, OK, "one lane"},
		{"ordering", []string{"pollers__orders__ordering=none"}, nil, ToMend, "ordering=none"},
	}
}
