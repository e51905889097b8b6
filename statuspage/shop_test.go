package statuspage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// shop is a Reader and an Operator that remembers what it was asked.
type shop struct {
	report status.Report
	fails  error
	partly bool // what fails was done in part
	row    []byte

	mu    sync.Mutex
	asked []string
}

func (s *shop) Report(context.Context) status.Report {
	r := s.report
	r.Outputs = append([]status.Output(nil), r.Outputs...)
	return r
}

func (s *shop) do(words ...string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.Join(words, "|"))
	if s.fails != nil && !s.partly {
		return "", s.fails
	}
	return "did " + words[0] + " of " + words[1], s.fails
}

func (s *shop) Pause(_ context.Context, poller, output, by string) (string, error) {
	return s.do("pause", poller, output, by)
}

func (s *shop) Resume(_ context.Context, poller, output, by string) (string, error) {
	return s.do("resume", poller, output, by)
}

func (s *shop) Replay(_ context.Context, poller, output string, letters []string, by string) (string, error) {
	return s.do("replay", poller, output, strings.Join(letters, ","), by)
}

func (s *shop) Purge(_ context.Context, poller, output string, letters []string, by string) (string, error) {
	return s.do("purge", poller, output, strings.Join(letters, ","), by)
}

func (s *shop) Row(_ context.Context, poller, output, letter, by string) ([]byte, error) {
	if _, err := s.do("row", poller, output, letter, by); err != nil {
		return nil, err
	}
	return s.row, nil
}

func (s *shop) done() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

var errRefused = errors.New("orders could not be paused: the store does not answer")

// hostile is what databases and destinations may put into texts.
const hostile = `"><script>alert('x')</script><img src=x onerror=alert(1)>` + "`${1}`" + `</style></details>&lt;`

func openShop() *shop {
	now := time.Date(2026, 11, 21, 20, 30, 0, 0, time.UTC)
	at := func(d time.Duration) *time.Time { t := now.Add(d); return &t }
	some := func(v float64) *float64 { return &v }
	pending := int64(1204)
	letters := make([]status.Letter, 3)
	for i := range letters {
		letters[i] = status.Letter{ID: fmt.Sprintf("Xo0%d-_aZ9k3", i), Key: fmt.Sprintf(`{"id":%d}`, 4711+i),
			At: at(-time.Duration(i+1) * time.Hour), Attempts: 5,
			Reason: "422 Unprocessable Entity: the article is not known"}
	}
	outputs := []status.Output{
		{Poller: "customers", Mode: "cursor", Source: "dbo.Customers", Kind: "http", Health: status.Healthy,
			From: "sqlserver db1" + hostile, To: "http shop.example.com",
			Says:     "Everything that changed is delivered.",
			Position: `{"kind":"rowversion","value":"0x00000000000ab3f1"}`, CommittedAt: at(-2 * time.Minute), Token: 41,
			LagSeconds: some(0), Rate: some(0),
			LastSuccess: at(-4 * time.Second), NextRun: at(6 * time.Second),
			Lease: &status.Lease{Holder: "web-1", ExpiresAt: now}},
		{Poller: "orders", Mode: "cursor", Source: "dbo.Orders", Kind: "http", Health: status.Parked,
			Says:        "It works; 2 events wait for a repetition, and 3 were given up.",
			Position:    `{"kind":"timestamp+int","value":["2026-11-21T20:29:58.1234567",98121]}`,
			CommittedAt: at(-3 * time.Second), Token: 118, LagSeconds: some(1.4), Rate: some(212.4),
			LastSuccess: at(-3 * time.Second), NextRun: at(7 * time.Second),
			Lease:  &status.Lease{Holder: "web-1", Held: true, HeartbeatSeconds: 2.1, ExpiresAt: now},
			Parked: 2, Waiting: 11, DeadLetters: 3, Skipped: 12, Letters: letters,
			Entries: []status.Letter{{ID: "p1", Key: `{"id":81}`, Attempts: 2, Reason: "409 Conflict",
				Next: at(40 * time.Second)}, {ID: "p2", Key: `{"id":90}`, Attempts: 1, Reason: hostile, Next: at(-time.Second)}}},
		{Poller: "orders", Output: "audit", Mode: "cursor", Source: "dbo.Orders", Kind: "queue", Health: status.Paused,
			Says: "An operator has paused it.", Token: 9,
			Pause: &status.Pause{At: at(-26 * time.Hour), By: "ann@desk-7"}, LastSuccess: at(-26 * time.Hour)},
		{Poller: "invoices", Mode: "cursor", Source: "query", Kind: "http", Health: status.Failing,
			Says: "The last tick failed: the destination cannot be reached.", Token: 77,
			LastSuccess: at(-3 * time.Hour), NextRun: at(9 * time.Second), LagSeconds: some(10834),
			LastError: &status.Problem{At: at(-20 * time.Second), Event: "handler_failed",
				Text: `Post "https://erp.example.com/hook": dial tcp 10.2.3.4:443: connect: connection refused`,
				Mend: "nothing was acknowledged that was not accepted; if it lasts, mend the receiver, or check pollers__invoices__output__url"}},
		{Poller: "events", Mode: "outbox", Source: "dbo.outbox", Kind: "servicebus", Health: status.Blocked,
			Says: "Events wait behind a writer that does not commit.", Token: 3,
			Pending: &pending, Parked: 1, LagSeconds: some(94), Rate: some(0.25), LastSuccess: at(-90 * time.Second),
			HeldBack: &status.HeldBack{Seconds: 94, By: "session 58 of web@10.0.0.8"},
			Owners: []status.Lease{{Holder: "web-1", Held: true, HeartbeatSeconds: 1, Units: 8},
				{Holder: "web-2", Held: true, HeartbeatSeconds: 3, Units: 8}}, CountedTo: 10000},
		{Poller: "returns", Mode: "cursor", Source: "dbo.Returns", Kind: "kafka", Health: status.New,
			Says: "It has never run."},
	}
	return &shop{report: status.Report{App: "shop", Version: "1.4.0", Instance: "web-1", At: now, Outputs: outputs}}
}
