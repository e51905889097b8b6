package azmessaging_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/amqptest"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

// batchOf is a delivery of an outbox' events of these aggregates ("": of none), each with a payload of so many bytes.
func batchOf(size int, aggregates ...string) change.Delivery {
	d := outputtest.Delivery(0, len(aggregates))
	for i, a := range aggregates {
		e := &d.Events[i]
		e.Outbox = &change.Outbox{AggregateType: "Order", AggregateID: a, EventType: "OrderPlaced", IdempotencyKey: e.ID,
			Payload: []byte(`"` + strings.Repeat("x", size) + `"`), JSON: true}
		if a != "" {
			e.OrderKey = []byte(`{"aggregate_type":"Order","aggregate_id":"` + a + `"}`)
		}
	}
	return d
}

// failedIn are the events that failed, with what is said of them.
func failedIn(t *testing.T, err error) map[int]poller.FailedEvent {
	t.Helper()
	failed := map[int]poller.FailedEvent{}
	if said, ok := errors.AsType[*poller.DeliveryError](err); ok {
		for _, f := range said.Failed {
			failed[f.Index] = f
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return failed
}

// arrived are the numbers of the events that an address has accepted, in order, and how many transfers there were.
func arrived(peer *amqptest.Peer, address string, d change.Delivery) (order []int, transfers int) {
	for _, m := range peer.Received(address) {
		order = append(order, slices.IndexFunc(d.Events, func(e change.Event) bool { return e.ID == m.ID }))
	}
	return order, peer.Stats().Transfers
}

// of are those among order that are in which.
func of(order []int, which ...int) []int {
	return slices.DeleteFunc(slices.Clone(order), func(i int) bool { return !slices.Contains(which, i) })
}

// eachService runs a test with both outputs, each with a peer of its own that has the queue orders.
func eachService(t *testing.T, test func(t *testing.T, peer *amqptest.Peer, o amqptest.Output)) {
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			peer := amqptest.Start(t)
			cfg := amqptest.Config(t, peer.Connection(), "orders", nil)
			cfg.Format, cfg.MaxMessage = change.Payload, 100_000
			test(t, peer, amqptest.Open(t, s.open, cfg))
		})
	}
}

// TestBatches: the events of one aggregate are one message of AMQP, and those of none are one.
func TestBatches(t *testing.T) {
	eachService(t, func(t *testing.T, peer *amqptest.Peer, o amqptest.Output) {
		d := batchOf(10, "a", "b", "a", "", "a", "")
		if err := o.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		order, transfers := arrived(peer, "orders", d)
		if transfers != 3 || len(order) != 6 || !slices.Equal(of(order, 0, 2, 4), []int{0, 2, 4}) {
			t.Errorf("in %d transfers arrived %v, want three, and 0, 2, 4 in order", transfers, order)
		}
		for _, m := range peer.Received("orders") {
			if key, has := m.Annotations["x-opt-partition-key"]; has != (key == "a" || key == "b") {
				t.Errorf("message %s has the partition key %v", m.ID, key)
			}
		}
	})
}

// TestBatchesHaveRoom: more than one batch has room for goes in several, in order.
func TestBatchesHaveRoom(t *testing.T) {
	eachService(t, func(t *testing.T, peer *amqptest.Peer, o amqptest.Output) {
		d := batchOf(90_000, "a", "a", "a", "a", "a")
		if err := o.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if order, transfers := arrived(peer, "orders", d); transfers != 3 || !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("in %d transfers arrived %v", transfers, order)
		}
	})
}

// TestBatchThatIsRefused: which event of a batch is at fault, the service does not say. Other batches are accepted.
func TestBatchThatIsRefused(t *testing.T) {
	eachService(t, func(t *testing.T, peer *amqptest.Peer, o amqptest.Output) {
		d := batchOf(10, "a", "b", "a", "a")
		peer.Set("orders", amqptest.Rule{Do: amqptest.Reject,
			Condition: amqptest.Condition{Condition: "amqp:not-allowed"}, Only: []string{azmessaging.Key(d.Events[2].ID)}})
		failed := failedIn(t, o.Deliver(t.Context(), d))
		for _, i := range []int{0, 2, 3} {
			if f, is := failed[i]; !is || f.Named || f.Cause != poller.Refused {
				t.Errorf("event %d: %+v", i, f)
			}
		}
		if order, _ := arrived(peer, "orders", d); !slices.Equal(order, []int{1}) || len(failed) != 3 {
			t.Errorf("arrived %v, failed %v", order, failed)
		}
	})
}

// TestNothingBehindAFailure: of an order key nothing is accepted behind an event that cannot be sent.
func TestNothingBehindAFailure(t *testing.T) {
	eachService(t, func(t *testing.T, peer *amqptest.Peer, o amqptest.Output) {
		d := batchOf(10, "a", "a", "a", "b")
		d.Events[1].Outbox.Payload = []byte(`"` + strings.Repeat("x", 100_001) + `"`)
		failed := failedIn(t, o.Deliver(t.Context(), d))
		if f := failed[1]; !f.Named || f.Cause != poller.Impossible {
			t.Errorf("the large one: %+v", f)
		}
		if f, is := failed[2]; !is || f.Named || f.Cause != poller.Unavailable {
			t.Errorf("the one behind it: %+v", f)
		}
		if order, _ := arrived(peer, "orders", d); !slices.Equal(slices.Sorted(slices.Values(order)), []int{0, 3}) {
			t.Errorf("arrived %v", order)
		}
	})
}
