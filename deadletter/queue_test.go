package deadletter_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/google/uuid"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/storagequeue"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/blobstore"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// TestAzurite puts records on a real queue, one of them too large for it and stored in a real container.
func TestAzurite(t *testing.T) {
	connection, id := testenv.Azurite(t), "dead-"+uuid.NewString()
	client, err := azqueue.NewQueueClientFromConnectionString(connection, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := container.NewClientFromConnectionString(connection, id, blobstore.ClientOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // neither may exist
		_, _ = client.Delete(context.WithoutCancel(t.Context()), nil)
		_, _ = blobs.Delete(context.WithoutCancel(t.Context()), nil)
	})
	output, err := storagequeue.New(storagequeue.Config{Client: client, Format: change.Row, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := blobstore.New(blobstore.Config{Client: blobs, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	store := deadletter.NewStore(b)
	q := deadletter.NewQueue(output, store)
	small, large := letter("small"), letter("large")
	large.Event.Row = []byte(`{"x":"` + strings.Repeat("x", 3<<20) + `"}`)
	for _, d := range []poller.DeadLetter{small, large} {
		if err := q.Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.DequeueMessages(t.Context(), &azqueue.DequeueMessagesOptions{NumberOfMessages: to.Ptr[int32](32)})
	if err != nil || len(got.Messages) != 2 {
		t.Fatalf("%d messages, %v", len(got.Messages), err)
	}
	records := map[string]*deadletter.Record{}
	for _, m := range got.Messages {
		body, err := base64.StdEncoding.DecodeString(*m.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		r, err := deadletter.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		records[r.ID] = r
	}
	if r := records["small"]; r == nil || string(r.Row) != string(small.Event.Row) || r.PayloadRef != "" ||
		r.Reason != small.Reason {
		t.Errorf("small: %+v", r)
	}
	r := records["large"]
	if r == nil || r.Row != nil || r.PayloadRef != "deadletters/shop/orders/large.json" || r.Attempts != 5 {
		t.Fatalf("large: %+v", r)
	}
	e, err := store.Get(t.Context(), r.PayloadRef)
	if err != nil || string(e.Record.Row) != string(large.Event.Row) {
		t.Errorf("what it refers to: %v", err)
	}
	if names := list(t, store, deadletter.Filter{}); len(names) != 1 {
		t.Errorf("stored are %q", names)
	}
}

// fakeQueue is an output that answers as it is told, and keeps what it accepted.
type fakeQueue struct {
	most     int // bytes
	failures []error
	accepted []string
	tried    int
}

func (f *fakeQueue) Deliver(_ context.Context, d change.Delivery) error {
	f.tried++
	if len(d.Events[0].Row) > f.most {
		return poller.FailAll(1, poller.Impossible, 0, errors.New("too large"))
	}
	if len(f.failures) > 0 {
		err := f.failures[0]
		f.failures = f.failures[1:]
		return err
	}
	f.accepted = append(f.accepted, string(d.Events[0].Row))
	return nil
}

func TestQueueFaults(t *testing.T) {
	away := poller.FailAll(1, poller.Unavailable, 503, errors.New("busy"))
	denied := poller.FailAll(1, poller.Refused, 400, errors.New("no"))
	for name, c := range map[string]struct {
		most     int
		failures []error
		cut      bool // the store is away
		accepted int
		says     string
	}{
		"sent":                          {1 << 20, nil, true, 1, ""},
		"busy for a moment":             {1 << 20, []error{away, errors.New("no route"), away}, true, 1, ""},
		"busy for long":                 {1 << 20, []error{away, away, away, away, away}, false, 0, "dead_letter__queue"},
		"refused":                       {1 << 20, []error{denied}, false, 0, "dead_letter__queue"},
		"too large":                     {700, nil, false, 1, ""},
		"too large and busy":            {700, []error{away}, false, 1, ""},
		"too large, and the store away": {700, nil, true, 0, "too large for its queue"},
		"too large without its row":     {10, nil, false, 0, "the record itself is in deadletters/shop/orders/e1.json"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faulty := storetest.NewFaulty(memstore.New())
				faulty.Cut(c.cut)
				store := deadletter.NewStore(faulty)
				to := &fakeQueue{most: c.most, failures: c.failures}
				d := letter("e1")
				d.Event.Row = []byte(`"` + strings.Repeat("x", 800) + `"`)
				err := deadletter.NewQueue(to, store).Put(t.Context(), d)
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %q", err, c.says)
				}
				if len(to.accepted) != c.accepted {
					t.Errorf("%d messages", len(to.accepted))
				}
				faulty.Cut(false)
				_, err = store.Get(t.Context(), e1)
				if stored := c.most < 1000 && !c.cut; stored != (err == nil) || err != nil && !errors.Is(err, state.ErrNotFound) {
					t.Errorf("stored: %v", err)
				}
			})
		})
	}
}
