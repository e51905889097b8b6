package production

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/inspect"
)

func TestOutputItems(t *testing.T) { try(t, outputCases()) }

func outputCases() []verdictCase {
	denied := fmt.Errorf("HTTP 403 AuthorizationPermissionMismatch: %w", azure.ErrDenied)
	queue := func(err error) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Queues["dead of Q"] = err }
	}
	letters := func(l inspect.Letters) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Letters = l }
	}
	some, no := int64(6), int64(0)
	unsigned := "pollers__orders__output__secret="
	header := func(name string) []string {
		return []string{unsigned, "pollers__orders__output__headers__" + name + "=v"}
	}
	url := func(text string) []string { return []string{"pollers__orders__output__url=" + text} }
	second := []string{"pollers__orders__outputs__b__kind=http", "pollers__orders__outputs__b__url=https://b.example.com/"}
	stdout := []string{"pollers__orders__output__kind=stdout", "pollers__orders__output__url=", unsigned}
	return []verdictCase{
		{"idempotent", nil, nil, CannotTell, "https://hooks.example.com"},
		{"signature", nil, nil, OK, "signed"},
		{"signature", stdout, nil, NoMatter, ""},
		{"signature", []string{unsigned}, nil, ToMend, "no output__secret"},
		{"signature", []string{unsigned, "pollers__orders__output__headers__x_functions_key=k"}, nil, OK, "the header"},
		{"signature", header("authorization"), nil, OK, "the header Authorization says who sends"},
		{"signature", header("cookie"), nil, OK, "Cookie"},
		{"signature", header("x_auth_token"), nil, OK, "X-Auth-Token"},
		{"signature", header("x_apikey"), nil, OK, "X-Apikey"},
		{"signature", header("x_hub_sig"), nil, OK, "X-Hub-Sig"},
		{"signature", append(header("x_api_key"), header("accept")[1]), nil, OK, "the header X-Api-Key says"},
		{"signature", header("accept"), nil, CannotTell, "whether the header Accept proves who sends"},
		{"signature", header("x_tenant"), nil, CannotTell, "X-Tenant"},
		{"signature", header("x_design"), nil, CannotTell, "X-Design"}, // has sig in it
		{"signature", header("x_author"), nil, CannotTell, "X-Author"}, // and auth
		{"signature", append(header("accept"), second...), nil, ToMend, "no header with a key"},
		{"signature", append(header("accept"),
			append(second, "pollers__orders__outputs__b__secret=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")...), nil, CannotTell, "Accept"},
		{"signature", url("https://hooks.example.com/x?Subscription-Key=1"), nil, ToMend, "Subscription-Key="},
		{"signature", url("https://hooks.example.com/x?api-key=1"), nil, ToMend, "api-key="},
		{"signature", url("https://hooks.example.com/x?page=1&client_secret=1"), nil, ToMend, "client_secret="},
		{"signature", url("https://hooks.example.com/x?X-Amz-Signature=1"), nil, ToMend, "X-Amz-Signature="},
		{"signature", url("https://a-token@hooks.example.com/x"), nil, ToMend, "in user@"},
		{"signature", url("https://u:p@hooks.example.com/x"), nil, ToMend, "in user:password@"},
		{"signature", url("https://hooks.example.com/x?partition_key=1&design=2"), nil, OK, "signed"},
		{"signature", []string{"pollers__orders__output__url=https://hooks.example.com/x?code=1"}, nil, ToMend, "code="},
		{"signature", []string{unsigned, "pollers__orders__output__auth=entra", "pollers__orders__output__auth_scope=x"},
			nil, OK,
			"a token says who sends"},
		{"signature", []string{unsigned, "pollers__orders__output__client_certificate=x"}, nil, OK,
			"a certificate says who sends"},
		{"queues", nil, nil, NoMatter, "deadletters/shop/orders/"},
		{"queues", nil, func(_ *inspect.App, p *inspect.Poller) {
			p.Queues, p.Broken = nil, "the poller has a fault: see settings"
		}, CannotTell, "has a fault"},
		{"queues", deadQueue, queue(nil), OK, "dead of Q"},
		{"queues", deadQueue, queue(denied), CannotTell, "HTTP 403"},
		{"queues", deadQueue, queue(errors.New("HTTP 404 QueueNotFound")), ToMend, "QueueNotFound"},
		{"queues", deadQueue, queue(inspect.ErrUnmade), CannotTell, "not there yet: dead of Q"},
		{"queues", deadQueue, both(queue(inspect.ErrUnmade), func(_ *inspect.App, p *inspect.Poller) {
			p.Queues["events of Q"] = denied
		}), CannotTell, "not shown to this login"},
		{"queues", deadQueue, both(queue(denied), func(_ *inspect.App, p *inspect.Poller) {
			p.Queues["events of Q"] = errors.New("HTTP 404 QueueNotFound")
		}), ToMend, "events of Q"},
		{"attempts", nil, nil, OK, "then deadletters/shop/orders/"},
		{"attempts", []string{"pollers__orders__max_attempts=1"}, nil, ToMend, "1 attempt"},
		{"attempts", []string{"pollers__orders__retry_delays=1s"}, nil, ToMend, "over 4s"},
		{"held", nil, nil, OK, "nothing"},
		{"held", nil, func(_ *inspect.App, p *inspect.Poller) {
			p.Broken = "the poller has a fault: see settings"
		}, CannotTell, "has a fault"},
		{"held", nil, letters(inspect.Letters{Stored: 2}), ToMend, "2 dead letter"},
		{"held", nil, letters(inspect.Letters{StoredErr: errors.New("HTTP 500")}), CannotTell, "HTTP 500"},
		{"held", deadQueue, letters(inspect.Letters{Queued: &some}), ToMend, "6 dead letter"},
		{"held", deadQueue, letters(inspect.Letters{Queued: &no}), OK, ""},
		{"held", deadQueue, letters(inspect.Letters{QueuedErr: denied}), CannotTell, "is not shown"},
		{"held", deadQueue, nil, CannotTell, "is not shown"},
		{"held", nil, func(_ *inspect.App, p *inspect.Poller) {
			p.Outputs = []*inspect.Output{{Parked: 4, Paused: "by x"}}
		}, ToMend, "paused by x, 4 parked"},
		{"held", []string{outboxMode}, func(_ *inspect.App, p *inspect.Poller) {
			p.Outbox.Figures.Dead = 5
		}, ToMend, "5 dead letter"},
		{"held", []string{outboxMode}, func(_ *inspect.App, p *inspect.Poller) {
			p.Outbox.Paused, p.Outbox.Figures.Failed = "by x", 3
		}, ToMend, "paused by x, 3 failed"},
		{"ordering", nil, nil, OK, "by the key"},
		{"ordering", []string{"pollers__orders__source__order_key=customer"}, nil, OK, "by customer"},
		{"ordering", []string{"pollers__orders__source__order_key=customer"}, func(_ *inspect.App, p *inspect.Poller) {
			p.Table.Late = &inspect.Late{Mode: late.Overlap, Order: "not in order"}
		}, ToMend, "by customer, but not in order"},
		{"ordering", []string{outboxMode}, nil, OK, "by the aggregate"},
		{"ordering", []string{"pollers__orders__ordering=source"}, nil, OK, "one lane"},
		{"ordering", []string{"pollers__orders__ordering=none"}, nil, ToMend, "ordering=none"},
	}
}
