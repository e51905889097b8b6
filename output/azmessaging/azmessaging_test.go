package azmessaging

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

// fake is a service without a network.
type fake struct {
	open func(ctx context.Context, destination string) error
	send func(ctx context.Context, m *Message) error

	mu             sync.Mutex
	opened, closed []string
}

func (f *fake) service() Service[string] {
	return Service[string]{
		Name: "the service", Entity: "queue", Role: "Sender",
		Open: func(ctx context.Context, destination string) (string, error) {
			f.mu.Lock()
			f.opened = append(f.opened, destination)
			f.mu.Unlock()
			if f.open != nil {
				return destination, f.open(ctx, destination)
			}
			return destination, nil
		},
		Close: func(_ context.Context, l string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.closed = append(f.closed, l)
		},
		Send: func(ctx context.Context, _ string, batch []*Message) (int, error) { return 1, f.send(ctx, batch[0]) },
		Code: func(error) Code { return NoCode },
	}
}

func (f *fake) counts() (opened, closed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.opened), len(f.closed)
}

func fakeOutput(t testing.TB, f *fake, concurrency int) *Output[string] {
	t.Helper()
	destinations, err := output.ParseDestinations("orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Config{Connection: Connection{Namespace: "shop"}, Destinations: destinations, Concurrency: concurrency},
		f.service())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestConcurrencyIsTheOutputs: deliveries side by side share the places and the one link.
func TestConcurrencyIsTheOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		o := fakeOutput(t, f, 4)
		outputtest.Places(t, func(send func()) poller.Output {
			f.send = func(context.Context, *Message) error { send(); return nil }
			return o
		})
		if opened, _ := f.counts(); opened != 1 {
			t.Errorf("%d links were opened, want one", opened)
		}
		if err := o.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, closed := f.counts(); closed != 1 {
			t.Errorf("%d links were closed", closed)
		}
	})
}

// An SDK that does not look at the context keeps a place, and no delivery: what it opens or sends late is nobody's.
func TestDeafSDK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{
			open: func(context.Context, string) error { time.Sleep(10 * time.Second); return nil },
			send: func(context.Context, *Message) error { time.Sleep(time.Minute); return nil },
		}
		o := fakeOutput(t, f, 2)
		over := errors.New("output__timeout")
		for _, want := range []time.Duration{5 * time.Second, 20 * time.Second} { // while it opens, while it sends
			began := time.Now()
			ctx, cancel := context.WithTimeoutCause(t.Context(), want, over)
			if err := o.Deliver(ctx, outputtest.Delivery(0, 5)); !errors.Is(err, over) {
				t.Errorf("%v", err)
			}
			cancel()
			if took := time.Since(began); took != want {
				t.Errorf("it took %s, want %s", took, want)
			}
		}
		if opened, _ := f.counts(); opened != 1 {
			t.Errorf("%d links were opened", opened)
		}
		if err := o.Close(t.Context()); err != nil { // waits for what is under way
			t.Error(err)
		}
		if _, closed := f.counts(); closed != 1 {
			t.Errorf("%d links were closed", closed)
		}
	})
}

// The link of a delivery's own is not replaced: an outage is told at once. It is closed when the last of those that use
// it is done, and not under them.
func TestLostLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		var calls atomic.Int32
		f.send = func(context.Context, *Message) error {
			if calls.Add(1) == 1 {
				time.Sleep(time.Millisecond) // the others are under way by then
				return errors.New("the connection was lost")
			}
			time.Sleep(time.Second)
			if _, closed := f.counts(); closed != 0 {
				t.Error("the link was closed under a message")
			}
			return nil
		}
		o := fakeOutput(t, f, 4)
		err := o.Deliver(t.Context(), outputtest.Delivery(0, 4))
		var failure *poller.DeliveryError
		if !errors.As(err, &failure) || len(failure.Failed) != 1 || failure.Failed[0].Cause != poller.Unavailable {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		if opened, closed := f.counts(); opened != 1 || closed != 1 {
			t.Errorf("%d links opened, %d closed, want 1 and 1", opened, closed)
		}
	})
}

// TestPanicFailsItsEvent: it does not end the process.
func TestPanicFailsItsEvent(t *testing.T) {
	for _, f := range []*fake{
		{send: func(context.Context, *Message) error { panic("planned") }},
		{open: func(context.Context, string) error { panic("planned") }},
	} {
		outputtest.Panics(t, fakeOutput(t, f, 3))
	}
}

// Destinations without end keep no links without end.
func TestLinksAreBounded(t *testing.T) {
	f := &fake{send: func(context.Context, *Message) error { return nil }}
	l := newLinks(f.service().Open, f.service().Close)
	for i := range 3 * maxLinks {
		entry, err := l.acquire(t.Context(), fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		l.release(entry, false)
		if again, err := l.acquire(t.Context(), "often"); err != nil {
			t.Fatal(err)
		} else {
			l.release(again, false)
		}
		l.mu.Lock()
		if len(l.all) > maxLinks {
			t.Fatalf("%d links are open", len(l.all))
		}
		l.mu.Unlock()
	}
	if err := l.shut(t.Context()); err != nil {
		t.Fatal(err)
	}
	if opened, closed := f.counts(); opened != 3*maxLinks+1 || closed != opened {
		t.Errorf("%d links opened and %d closed, want %d", opened, closed, 3*maxLinks+1)
	}
}

func TestScrub(t *testing.T) {
	for text, want := range map[string]string{
		"put SharedAccessSignature sr=sb%3a%2f%2fshop&sig=abc%3d&se=1 failed": "put SharedAccessSignature …&sig=…&se=1 failed",
		"SharedAccessKey=abc=;EntityPath=x":                                   "SharedAccessKey=…;EntityPath=x",
		"401: Bearer eyJ0eXAi.abc is expired":                                 "401: Bearer … is expired",
		"TrackingId:1_G9, signature is wrong":                                 "TrackingId:1_G9, signature is wrong",
	} {
		if got := scrub(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
