package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

func destinations(t testing.TB, byDefault string, byType map[string]string) output.Destinations {
	t.Helper()
	d, err := output.ParseDestinations(byDefault, byType)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// open makes an output that produces to topic, unless change says otherwise.
func open(t testing.TB, broker, topic string, change func(*kafka.Config)) *kafka.Output {
	t.Helper()
	cfg := kafka.Config{Connection: kafka.Connection{Brokers: []string{broker}}, Destinations: destinations(t, topic, nil)}
	if change != nil {
		change(&cfg)
	}
	o, err := kafka.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return o
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

func messages(records []*kgo.Record) []outputtest.Message {
	all := make([]outputtest.Message, len(records))
	for i, r := range records {
		all[i] = outputtest.Message{Destination: r.Topic, Body: r.Value, Key: string(r.Key), Attributes: map[string]string{}}
		for _, h := range r.Headers {
			if h.Key == "content-type" {
				all[i].ContentType = string(h.Value)
				continue
			}
			all[i].Attributes[h.Key] = string(h.Value)
		}
	}
	return all
}

// failed asserts that err names exactly these events, and has an error of its own for each that the broker named.
func failed(t *testing.T, err error, want ...poller.FailedEvent) {
	t.Helper()
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("Deliver returned %v, want a *poller.DeliveryError", err)
	}
	if diff := cmp.Diff(want, failure.Failed, cmpopts.IgnoreFields(poller.FailedEvent{}, "Err")); diff != "" {
		t.Fatalf("failed events (-want +got):\n%s\n%v", diff, err)
	}
	for _, f := range failure.Failed {
		if (f.Err != nil) != f.Named {
			t.Errorf("event %d, named: %t, has the error %v", f.Index, f.Named, f.Err)
		}
	}
}

func contains(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

// outbox returns a delivery of n events, of aggregates first, first+1, …
func outbox(first, n int) change.Delivery {
	d := outputtest.Delivery(first, n)
	for i := range d.Events {
		e := &d.Events[i]
		e.Outbox = &change.Outbox{
			AggregateType: "Order", AggregateID: fmt.Sprint(first + i), EventType: "OrderPlaced",
			IdempotencyKey: fmt.Sprintf("key-%d", first+i), Payload: fmt.Appendf(nil, `{"id":%d}`, first+i), JSON: true,
			CreatedAt: time.Now(),
		}
		e.ID = e.Outbox.IdempotencyKey
	}
	return d
}

// arrivedOnce asserts that all events of d but some are among the records, each once.
func arrivedOnce(t *testing.T, records []*kgo.Record, d change.Delivery, but ...int) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, r := range records {
		got[header(r, "idempotency_key")]++
	}
	for i := range d.Events {
		want[d.Events[i].ID] = 1
	}
	for _, i := range but {
		delete(want, d.Events[i].ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events that arrived (-want +got):\n%s", diff)
	}
}
