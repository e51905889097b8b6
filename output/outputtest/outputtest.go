// Package outputtest is the suite that every output passes on its real engine: an HTTP server, Azurite, a buffer.
//
//	func TestConformance(t *testing.T) {
//		outputtest.Run(t, func(t *testing.T) outputtest.Fixture { … })
//	}
//
// The outputs under test use the format cloudevents, so that the suite can read at the destination what
// every receiver is promised (docs/formats.md).
package outputtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Run runs the suite. build is called for each test.
func Run(t *testing.T, build func(t *testing.T) Fixture) {
	t.Helper()
	probe := build(t)
	several := 20
	if probe.One {
		several = 1
	}
	t.Run("accepts all, and the receiver sees what it can fence by", func(t *testing.T) { accepts(t, build(t), several) })
	t.Run("unreachable is unavailable", func(t *testing.T) { unreachable(t, build(t), several) })
	t.Run("an ended context sends nothing and tells its cause", func(t *testing.T) { ended(t, build(t), several) })
	t.Run("concurrent deliveries do not mix", func(t *testing.T) { concurrent(t, build(t), several) })
	t.Run("a delivery is shared, not changed, and not read later", func(t *testing.T) { borrowed(t, build(t), several) })
	if probe.Spoil != nil && !probe.One {
		t.Run("a partial failure names exactly the failed events", func(t *testing.T) { partial(t, build(t), several) })
	}
	if probe.Misplace != nil {
		t.Run("an event whose place is missing is misplaced, and the others arrive", func(t *testing.T) {
			misplaced(t, build(t), several)
		})
	}
	if probe.TooLarge > 0 {
		t.Run("too large is impossible", func(t *testing.T) { tooLarge(t, build(t)) })
	}
	if probe.Hang != nil {
		t.Run("cancelling returns with its cause", func(t *testing.T) { cancelling(t, build(t), several) })
	}
	if probe.Messages != nil {
		t.Run("attributes stand beside the body", func(t *testing.T) { attributes(t, build(t), several) })
	}
	if probe.Payloads != nil {
		t.Run("an outbox event is its payload, at its destination", func(t *testing.T) { payloads(t, build(t)) })
	}
	if probe.IdempotencyKeys != nil {
		t.Run("a retry repeats the idempotency key", func(t *testing.T) { idempotency(t, build(t), several) })
	}
}

// received is what the suite reads from a CloudEvent.
type received struct {
	ID                                                                              string
	RowrelayPoller, RowrelayBatch, RowrelayToken, RowrelayDelivery, RowrelayKeyHash string
	RowrelayAttempt                                                                 int
	Data                                                                            json.RawMessage
}

func parse(t *testing.T, bodies [][]byte) []received {
	t.Helper()
	var all []received
	for _, body := range bodies {
		if body = []byte(strings.TrimSpace(string(body))); len(body) > 0 && body[0] == '{' {
			body = slices.Concat([]byte("["), body, []byte("]"))
		}
		var some []received
		if err := json.Unmarshal(body, &some); err != nil {
			t.Fatalf("the destination received what is not CloudEvents: %v\n%s", err, body)
		}
		all = append(all, some...)
	}
	return all
}

func accepts(t *testing.T, f Fixture, n int) {
	d := Delivery(100, n)
	d.Attempt = 3
	if err := f.Output.Deliver(t.Context(), d); err != nil {
		t.Fatalf("Deliver: %v", err)
	}
	got := parse(t, f.Received(t))
	fence := received{RowrelayBatch: d.BatchID, RowrelayToken: "9007199254740993", RowrelayDelivery: "101",
		RowrelayAttempt: 3}
	if f.Messages != nil || f.IdempotencyKeys != nil { // it stands in headers, so that a repetition has the same body
		fence = received{}
	}
	var gotIDs []string
	for _, r := range got {
		gotIDs = append(gotIDs, r.ID)
		if r.RowrelayPoller != d.Poller || r.RowrelayBatch != fence.RowrelayBatch ||
			r.RowrelayToken != fence.RowrelayToken || r.RowrelayDelivery != fence.RowrelayDelivery ||
			r.RowrelayAttempt != fence.RowrelayAttempt {
			t.Errorf("what an event can be fenced by: %+v, want %+v", r, fence)
		}
		i := slices.IndexFunc(d.Events, func(e change.Event) bool { return e.ID == r.ID })
		if i < 0 || string(r.Data) != string(d.Events[i].Row) || r.RowrelayKeyHash != d.Events[i].KeyHash() {
			t.Errorf("event %s arrived changed: %+v", r.ID, r)
		}
	}
	sameIDs(t, gotIDs, d.Events, f.InOrder)
}

// sameIDs compares the ids that arrived with those that were sent.
func sameIDs(t *testing.T, got []string, sent []change.Event, inOrder bool) {
	t.Helper()
	want := make([]string, len(sent))
	for i := range sent {
		want[i] = sent[i].ID
	}
	if !inOrder {
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events that arrived (-sent +received):\n%s", diff)
	}
}

// check asserts that err is a DeliveryError that names exactly the indices, with cause, and has a text.
func check(t *testing.T, err error, cause poller.Cause, indices ...int) {
	t.Helper()
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("Deliver returned %v (%T), want a *poller.DeliveryError", err, err)
	}
	var got []int
	for _, failed := range failure.Failed {
		got = append(got, failed.Index)
		if failed.Cause != cause {
			t.Errorf("event %d is %s, want %s (%v)", failed.Index, failed.Cause, cause, err)
		}
	}
	if diff := cmp.Diff(indices, got); diff != "" {
		t.Errorf("failed events (-want +got):\n%s\n%v", diff, err)
	}
	if text := err.Error(); text == "" || strings.ContainsAny(text, "\r\n") {
		t.Errorf("the error is not one line: %q", text)
	}
}

func all(n int) []int {
	indices := make([]int, n)
	for i := range indices {
		indices[i] = i
	}
	return indices
}

func unreachable(t *testing.T, f Fixture, n int) {
	d := Delivery(0, n)
	check(t, f.Unreachable.Deliver(t.Context(), d), poller.Unavailable, all(n)...)
	overwrite(&d)
}

func ended(t *testing.T, f Fixture, n int) {
	why := errors.New("the right to deliver ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	err := f.Output.Deliver(ctx, Delivery(0, n))
	check(t, err, poller.Unavailable, all(n)...)
	if !errors.Is(err, why) {
		t.Errorf("error %q does not wrap the cause", err)
	}
	if got := f.Received(t); len(got) > 0 {
		t.Errorf("%d requests arrived after the context had ended", len(got))
	}
}

func cancelling(t *testing.T, f Fixture, n int) {
	arrived := f.Hang(t)
	why := errors.New("the right to deliver ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(why)
	}()
	d := Delivery(0, n)
	err := f.Output.Deliver(ctx, d) // returns only because of the cancellation
	overwrite(&d)
	check(t, err, poller.Unavailable, all(n)...)
	if !errors.Is(err, why) {
		t.Errorf("error %q does not wrap the cause", err)
	}
}

func concurrent(t *testing.T, f Fixture, n int) {
	const deliveries = 16
	var sent []change.Event
	var wg sync.WaitGroup
	for k := range deliveries {
		d := Delivery(1000*k, n)
		sent = append(sent, d.Events...)
		wg.Go(func() {
			if err := f.Output.Deliver(t.Context(), d); err != nil {
				t.Errorf("Deliver: %v", err)
			}
		})
	}
	wg.Wait()
	var got []string
	for _, r := range parse(t, f.Received(t)) {
		got = append(got, r.ID)
		i := slices.IndexFunc(sent, func(e change.Event) bool { return e.ID == r.ID })
		if i < 0 || string(r.Data) != string(sent[i].Row) {
			t.Errorf("event %s arrived changed: %s", r.ID, r.Data)
		}
	}
	sameIDs(t, got, sent, false)
}

// borrowed: several goroutines send the same events, which are as they were afterwards. Then they are overwritten:
// whoever still reads them sends something else, and the race detector sees it.
func borrowed(t *testing.T, f Fixture, n int) {
	d, want := Delivery(100, n), Delivery(100, n)
	var wg sync.WaitGroup
	for k := range 4 {
		same := d
		same.Number += uint64(k)
		wg.Go(func() {
			if err := f.Output.Deliver(t.Context(), same); err != nil {
				t.Errorf("Deliver: %v", err)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("Deliver changed its delivery (-was +is):\n%s", diff)
	}
	overwrite(&d)
	for _, r := range parse(t, f.Received(t)) {
		i := slices.IndexFunc(want.Events, func(e change.Event) bool { return e.ID == r.ID })
		if i < 0 || string(r.Data) != string(want.Events[i].Row) {
			t.Errorf("event %s arrived changed: %s", r.ID, r.Data)
		}
	}
}

// overwrite makes what Deliver may not read any more unreadable.
func overwrite(d *change.Delivery) {
	for i := range d.Events {
		e := &d.Events[i]
		for _, b := range [][]byte{e.Key, e.OrderKey, e.Row, e.Cursor, e.At} {
			for j := range b {
				b[j] = '!'
			}
		}
		*e = change.Event{}
	}
}

func partial(t *testing.T, f Fixture, n int) {
	d := Delivery(0, n)
	spoilt := []int{1, n / 2, n - 1}
	var cause poller.Cause
	for _, i := range spoilt {
		cause = f.Spoil(&d, i)
	}
	err := f.Output.Deliver(t.Context(), d)
	check(t, err, cause, spoilt...)
	var failure *poller.DeliveryError
	if errors.As(err, &failure) {
		for _, failed := range failure.Failed {
			if failed.Named != (cause != poller.Unavailable) {
				t.Errorf("event %d, %s: Named is %t", failed.Index, cause, failed.Named)
			}
		}
	}
}

// misplaced: what is said about a place is said about all events that go there, and about no other.
func misplaced(t *testing.T, f Fixture, n int) {
	d := Delivery(0, n)
	lost := []int{0, 1, n / 2, n - 1}
	for _, i := range lost {
		f.Misplace(&d, i)
	}
	for range 2 { // what was learned of it the first time must not be wrong
		err := f.Output.Deliver(t.Context(), d)
		check(t, err, poller.Misplaced, lost...)
		var failure *poller.DeliveryError
		if errors.As(err, &failure) {
			for _, failed := range failure.Failed {
				if !failed.Named {
					t.Errorf("event %d is not named", failed.Index)
				}
			}
		}
	}
	arrived := map[string]bool{}
	for _, r := range parse(t, f.Received(t)) {
		arrived[r.ID] = true
	}
	for i := range d.Events {
		if arrived[d.Events[i].ID] == slices.Contains(lost, i) {
			t.Errorf("event %d arrived: %t", i, slices.Contains(lost, i))
		}
	}
}

func tooLarge(t *testing.T, f Fixture) {
	d := Delivery(0, 1)
	d.Events[0].Row = fmt.Appendf(nil, `{"id":0,"text":"%s"}`, strings.Repeat("x", f.TooLarge))
	check(t, f.Output.Deliver(t.Context(), d), poller.Impossible, 0)
	if got := f.Received(t); len(got) > 0 {
		t.Errorf("%d requests arrived", len(got))
	}
}

func idempotency(t *testing.T, f Fixture, n int) {
	d := Delivery(0, n)
	for _, attempt := range []int{1, 2} {
		d.Attempt = attempt
		d.Token += 5
		d.Number++
		d.BatchID += "x" // fetched again by another owner
		if err := f.Output.Deliver(t.Context(), d); err != nil {
			t.Fatalf("Deliver: %v", err)
		}
	}
	if err := f.Output.Deliver(t.Context(), Delivery(5000, n)); err != nil {
		t.Fatalf("Deliver: %v", err)
	}
	keys := f.IdempotencyKeys()
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[2] == keys[0] {
		t.Errorf("idempotency keys of a request, its retry and another: %q", keys)
	}
}
