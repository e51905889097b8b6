package azmessaging_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/amqptest"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

// A link that died since it was used last is no failure: the events go over a new one.
func TestDeadLink(t *testing.T) {
	for name, kill := range map[string]func(*amqptest.Peer){
		"connection cut": (*amqptest.Peer).Cut,
		"link ended": func(p *amqptest.Peer) {
			p.Set("orders", amqptest.Rule{Do: amqptest.Detach,
				Condition: amqptest.Condition{Condition: "amqp:link:detach-forced"}, Times: 1})
		},
	} {
		for _, s := range services {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				peer := amqptest.Start(t)
				o := amqptest.Open(t, s.open, amqptest.Config(t, peer.Connection(), "orders", nil))
				for i := range 3 {
					if err := o.Deliver(t.Context(), outputtest.Delivery(i, 1)); err != nil {
						t.Fatalf("delivery %d: %v", i, err)
					}
					kill(peer)
				}
				if got := peer.Received("orders"); len(got) != 3 {
					t.Errorf("%d messages were accepted, want 3", len(got))
				}
			})
		}
	}
}

// Whatever is cut in the middle: what Deliver calls accepted has been accepted.
func TestAcceptedIsAccepted(t *testing.T) {
	for _, s := range services {
		for _, do := range []string{amqptest.Cut, amqptest.Release, amqptest.Detach, amqptest.Reject} {
			t.Run(do+"/"+s.name, func(t *testing.T) {
				peer := amqptest.Start(t)
				o := amqptest.Open(t, s.open, amqptest.Config(t, peer.Connection(), "orders", nil))
				failed := 0
				for round := range 8 {
					d := outputtest.Delivery(100*round, 30)
					rule := amqptest.Rule{Do: do, Only: []string{d.Events[3+3*round].ID},
						Condition: amqptest.Condition{Condition: "amqp:not-allowed"}}
					peer.Set("orders", rule)
					err := o.Deliver(t.Context(), d)
					var failure *poller.DeliveryError
					if !errors.As(err, &failure) {
						t.Fatalf("round %d: %v", round, err)
					}
					failed += len(failure.Failed)
					var there []string
					for _, m := range peer.Received("orders") {
						there = append(there, m.ID)
					}
					for i := range d.Events {
						told := slices.ContainsFunc(failure.Failed, func(f poller.FailedEvent) bool { return f.Index == i })
						if !told && !slices.Contains(there, d.Events[i].ID) {
							t.Errorf("round %d: event %d is lost", round, i)
						}
					}
				}
				t.Logf("%d of 240 events were reported as failed", failed)
			})
		}
	}
}

// Nothing is sent once the context has ended, although the peer is there and has credit to give.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			peer := amqptest.Start(t)
			cfg := amqptest.Config(t, peer.Connection(), "orders", nil)
			cfg.Concurrency = 3
			o := amqptest.Open(t, s.open, cfg)
			peer.Set("orders", amqptest.Rule{Do: amqptest.Hold})
			why := errors.New("the right to deliver ended")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go func() {
				<-peer.Arrived(3)
				peer.Set("orders", amqptest.Rule{})
				cancel(why)
			}()
			err := o.Deliver(ctx, outputtest.Delivery(0, 20))
			var failure *poller.DeliveryError
			if !errors.Is(err, why) || !errors.As(err, &failure) || len(failure.Failed) != 20 {
				t.Errorf("%v", err)
			}
			// over a new link: the old one does not answer
			if err := o.Deliver(t.Context(), outputtest.Delivery(500, 1)); err != nil {
				t.Fatal(err)
			}
			amqptest.Close(t, o) // whatever was still to go has gone
			if stats := peer.Stats(); stats.Transfers != 4 || stats.Links["orders"] != 2 {
				t.Errorf("%d transfers over %d links, want 3 and 1 over two links", stats.Transfers, stats.Links["orders"])
			}
		})
	}
}

// A namespace that takes the connection and then says nothing does not keep a delivery beyond its context, nor the
// output's end.
func TestSilentNamespace(t *testing.T) {
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close() //nolint:errcheck // the test is over
			connection := fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=a;SharedAccessKey=cGxhbnRlZA==;UseDevelopmentEmulator=true", silent.Addr())
			o := amqptest.Open(t, s.open, amqptest.Config(t, connection, "orders", nil))
			over := errors.New("no answer within 200ms (output__timeout)")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, over)
			defer cancel()
			if err := o.Deliver(ctx, outputtest.Delivery(0, 40)); !errors.Is(err, over) {
				t.Errorf("%v", err)
			}
			amqptest.Close(t, o)
			if err := o.Deliver(t.Context(), outputtest.Delivery(0, 1)); err == nil {
				t.Error("a closed output delivers")
			}
		})
	}
}

// One destination that is not there keeps nothing from the others, and is asked once.
func TestDestinationsAreApart(t *testing.T) {
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			peer := amqptest.Start(t)
			peer.Set("invoice", amqptest.Rule{Attach: &amqptest.Condition{Condition: "amqp:not-found"}})
			cfg := amqptest.Config(t, peer.Connection(), "{aggregate_type}", map[string]string{"OrderPlaced": "placed"})
			cfg.Concurrency = 2
			o := amqptest.Open(t, s.open, cfg)
			d := outputtest.Delivery(0, 20)
			for i := range d.Events {
				box := &change.Outbox{AggregateType: "Order", AggregateID: fmt.Sprint(i), EventType: "OrderShipped",
					IdempotencyKey: d.Events[i].ID, Payload: []byte("{}"), JSON: true}
				switch i % 4 {
				case 1:
					box.AggregateType = "Invoice"
				case 2:
					box.EventType = "OrderPlaced"
				case 3:
					box.AggregateType = "" // the template has no value
				}
				d.Events[i].Outbox = box
			}
			err := o.Deliver(t.Context(), d)
			var failure *poller.DeliveryError
			if !errors.As(err, &failure) || len(failure.Failed) != 10 {
				t.Fatalf("%v", err)
			}
			for _, f := range failure.Failed {
				cause := poller.Misplaced // whether it was tried or not
				if f.Index%4 == 3 {
					cause = poller.Impossible
				}
				if !is(f, f.Index, cause, true) || f.Index%2 == 0 {
					t.Errorf("%+v", f)
				}
			}
			if n := len(peer.Received("order")); n != 5 {
				t.Errorf("%d messages in order, want 5", n)
			}
			if n := len(peer.Received("placed")); n != 5 {
				t.Errorf("%d messages in placed, want 5", n)
			}
			if n := peer.Stats().Links["invoice"]; n < 1 || n > 2 {
				t.Errorf("%d links to what is not there, want one, or two side by side", n)
			}
		})
	}
}

func TestMaxMessage(t *testing.T) {
	for _, s := range services {
		cfg := amqptest.Config(t, amqptest.Unreachable, "orders", nil)
		cfg.MaxMessage, cfg.Format = 10, change.Row
		_, event := deliver(t, amqptest.Open(t, s.open, cfg), outputtest.Delivery(0, 1))
		if event.Cause != poller.Impossible || !event.Named {
			t.Errorf("%s: %+v", s.name, event)
		}
	}
}
