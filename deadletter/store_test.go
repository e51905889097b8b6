package deadletter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/filestore"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

const e1 = "deadletters/shop/orders/e1.json"

// TestPutUnderFaults: each way of failing, for each call, leaves the record, once, and as it was last given.
func TestPutUnderFaults(t *testing.T) {
	for _, op := range []storetest.Op{storetest.Create, storetest.Load, storetest.Replace} {
		for _, fault := range []storetest.Fault{storetest.None, storetest.NotDone, storetest.DoneButFailed,
			storetest.DoneLater} {
			for times := 1; times <= 2; times++ {
				t.Run(fmt.Sprintf("%s %s %d times", op, fault, times), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						faulty := storetest.NewFaulty(memstore.New())
						s := deadletter.NewStore(faulty)
						for attempts := 5; attempts <= 6; attempts++ { // the second replaces the first
							faulty.FailNext(op, fault, times)
							d := letter("e1")
							d.Attempts = attempts
							if err := s.Put(t.Context(), d); err != nil {
								t.Fatal(err)
							}
							faulty.Land()
							faulty.Plan(nil)
							e, err := s.Get(t.Context(), e1)
							if err != nil || e.Record.Attempts != attempts || e.Record.Reason != d.Reason || e.Record.WrittenAt.IsZero() {
								t.Fatalf("%+v, %v", e.Record, err)
							}
						}
						if names := list(t, s, deadletter.Filter{}); !slices.Equal(names, []string{e1}) {
							t.Errorf("stored are %q", names)
						}
					})
				})
			}
		}
	}
}

func TestPutFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := storetest.NewFaulty(memstore.New())
		s := deadletter.NewStore(faulty)
		faulty.Cut(true)
		if err := s.Put(t.Context(), letter("e1")); !errors.Is(err, storetest.ErrCrashed) ||
			!strings.Contains(err.Error(), e1) {
			t.Errorf("a store that is away: %v", err)
		}
		faulty.Cut(false)
		for _, id := range []string{"", "../../state/shop/orders", `a\b`, strings.Repeat("x", 129)} {
			if err := s.Put(t.Context(), letter(id)); err == nil {
				t.Errorf("id %.20q was taken", id)
			}
		}
		silent := deadletter.NewStore(hanging{faulty})
		begun := time.Now()
		var fault *state.SilentError
		if err := silent.Put(t.Context(), letter("e1")); !errors.As(err, &fault) {
			t.Errorf("a store that hangs: %v", err)
		}
		if waited := time.Since(begun); waited > time.Minute {
			t.Errorf("it was waited for %s", waited)
		}
	})
}

// TestListIsNotBegunAnewForMinutes: a store whose own patience ends each look, as one in blobs does after 20 s, is told
// after the first.
func TestListIsNotBegunAnewForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := deadletter.NewStore(hanging{memstore.New()}).List(t.Context(), deadletter.Filter{}, nil, nil)
		if waited := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || waited > 25*time.Second {
			t.Errorf("after %s: %v", waited, err)
		}
	})
}

type hanging struct{ state.Store }

func (hanging) List(context.Context, string) ([]string, error) {
	time.Sleep(20 * time.Second)
	return nil, context.DeadlineExceeded
}

func (hanging) Create(ctx context.Context, _ string, _ []byte) (state.Stamp, error) {
	<-ctx.Done()
	return state.Stamp{}, ctx.Err()
}

// TestRowThatNoStoreTakes is left out, and said to be, rather than holding up its poller for ever.
func TestRowThatNoStoreTakes(t *testing.T) {
	s := deadletter.NewStore(memstore.New())
	s.Bound(1 << 20) // of state.MaxObject: under the race detector its 64 MiB of JSON take half a minute
	d := letter("e1")
	d.Event.Row = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	if err := s.Put(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	e, err := s.Get(t.Context(), e1)
	if err != nil || e.Record.Row != nil || !strings.Contains(e.Record.Reason, "the row is left out here") ||
		!strings.HasPrefix(e.Record.Reason, d.Reason) {
		t.Errorf("%+v, %v", e.Record, err)
	}
}

func list(t *testing.T, s *deadletter.Store, f deadletter.Filter) []string {
	t.Helper()
	var names []string
	if err := s.List(t.Context(), f, func(e deadletter.Entry) error {
		names = append(names, e.Name)
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	return names
}

// fill stores what the filters tell apart: two apps, two pollers whose names begin alike, two outputs.
func fill(t *testing.T, store state.Store) *deadletter.Store {
	t.Helper()
	s := deadletter.NewStore(store)
	put := func(id string, change func(d *poller.DeadLetter)) {
		d := letter(id)
		change(&d)
		if err := s.Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	put("a", func(*poller.DeadLetter) {})
	put("b", func(d *poller.DeadLetter) { d.Output, d.Cause, d.Status = "audit", poller.Impossible, 0 })
	put("c", func(d *poller.DeadLetter) { d.Poller, d.Reason = "orders2", "too large" })
	put("d", func(d *poller.DeadLetter) { d.App, d.Event.Key = "other", []byte(`{"id":4711}`) })
	put("e", func(d *poller.DeadLetter) { d.Last = noon.Add(time.Hour) })
	return s
}

func TestFilters(t *testing.T) {
	s := fill(t, memstore.New())
	for name, c := range map[string]struct {
		filter deadletter.Filter
		want   string // ids
	}{
		"all":         {deadletter.Filter{}, "b e a c d"},
		"app":         {deadletter.Filter{App: "shop"}, "b e a c"},
		"poller":      {deadletter.Filter{App: "shop", Poller: "orders"}, "b a e"},
		"any app's":   {deadletter.Filter{Poller: "orders"}, "d b a e"},
		"output":      {deadletter.Filter{App: "shop", Poller: "orders", Output: "audit"}, "b"},
		"any output":  {deadletter.Filter{Output: "audit"}, "b"},
		"cause":       {deadletter.Filter{Causes: []poller.Cause{poller.Impossible, poller.Unavailable}}, "b"},
		"status":      {deadletter.Filter{Status: 422}, "a c d e"},
		"reason":      {deadletter.Filter{Reason: "large"}, "c"},
		"key":         {deadletter.Filter{Key: "4711"}, "d"},
		"since":       {deadletter.Filter{Since: noon}, "e"},
		"until":       {deadletter.Filter{Until: noon}, "a b c d"},
		"until is no": {deadletter.Filter{Until: noon.Add(-time.Minute)}, ""},
		"id":          {deadletter.Filter{ID: "c"}, "c"},
		"nobody's":    {deadletter.Filter{App: "shop", Poller: "order"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var ids []string
			for _, name := range list(t, s, c.filter) {
				ids = append(ids, strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ".json"))
			}
			want := strings.Fields(c.want)
			slices.Sort(ids)
			slices.Sort(want)
			if !slices.Equal(ids, want) {
				t.Errorf("got %q, want %q", ids, want)
			}
		})
	}
}

// TestListSurvives: unreadable records come with their error, and can be deleted; the progress is told; faults that
// mend themselves are repeated, and those that do not end the list.
func TestListSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New()
		fill(t, mem)
		faulty := storetest.NewFaulty(mem)
		s := deadletter.NewStore(faulty)
		const broken = "deadletters/shop/orders/broken.json"
		for _, name := range []string{broken, "deadletters/shop/orders/note.txt"} {
			if _, err := mem.Create(t.Context(), name, []byte("hello")); err != nil {
				t.Fatal(err)
			}
		}
		faulty.FailNext(storetest.Load, storetest.NotDone, 2)
		var seen []string
		var unreadable []deadletter.Entry
		steps, last := 0, 0
		err := s.List(t.Context(), deadletter.Filter{App: "shop", Poller: "orders", Status: 422},
			func(e deadletter.Entry) error {
				if e.Record == nil {
					unreadable = append(unreadable, e)
					return nil
				}
				seen = append(seen, e.Record.ID)
				return nil
			}, func(done, total int) {
				if steps++; done != steps || total != 4 {
					t.Errorf("step %d: %d of %d", steps, done, total)
				}
				last = done
			})
		if err != nil || !slices.Equal(seen, []string{"a", "e"}) || last != 4 {
			t.Errorf("saw %q, %v, %d steps", seen, err, last)
		}
		if len(unreadable) != 1 || unreadable[0].Name != broken || !errors.Is(unreadable[0].Err, deadletter.ErrRecord) ||
			unreadable[0].Record != nil {
			t.Fatalf("unreadable: %+v", unreadable)
		}
		if err := s.Delete(t.Context(), unreadable[0]); err != nil {
			t.Error(err)
		}
		if _, err := s.Get(t.Context(), broken); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("deleted, and read: %v", err)
		}
		stop := errors.New("enough")
		if err := s.List(t.Context(), deadletter.Filter{}, func(deadletter.Entry) error {
			return stop
		}, nil); !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
		faulty.FailNext(storetest.Load, storetest.NotDone, 100)
		if err := s.List(t.Context(), deadletter.Filter{}, func(deadletter.Entry) error {
			return nil
		}, nil); !errors.Is(err, storetest.ErrInjected) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDeleteUnderFaults(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.None, storetest.NotDone, storetest.DoneButFailed,
		storetest.DoneLater} {
		t.Run(fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faulty := storetest.NewFaulty(memstore.New())
				s := deadletter.NewStore(faulty)
				if err := s.Put(t.Context(), letter("e1")); err != nil {
					t.Fatal(err)
				}
				shown, err := s.Get(t.Context(), e1)
				if err != nil {
					t.Fatal(err)
				}
				again := letter("e1")
				again.Attempts = 9
				if err := s.Put(t.Context(), again); err != nil {
					t.Fatal(err)
				}
				if err := s.Delete(t.Context(), shown); !errors.Is(err, state.ErrConflict) {
					t.Errorf("deleting what was given up again: %v", err)
				}
				if shown, err = s.Get(t.Context(), e1); err != nil || shown.Record.Attempts != 9 {
					t.Fatalf("%+v, %v", shown.Record, err)
				}
				faulty.FailNext(storetest.Delete, fault, 2)
				if err := s.Delete(t.Context(), shown); err != nil {
					t.Error(err)
				}
				faulty.Land()
				if _, err := s.Get(t.Context(), e1); !errors.Is(err, state.ErrNotFound) {
					t.Errorf("deleted, and read: %v", err)
				}
				if err := s.Delete(t.Context(), shown); err != nil {
					t.Errorf("deleting it again: %v", err)
				}
			})
		})
	}
}

// TestFiles: names and listings on a file system, whose names differ from the keys.
func TestFiles(t *testing.T) {
	store, err := filestore.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := fill(t, store)
	if n := len(list(t, s, deadletter.Filter{App: "shop", Poller: "orders"})); n != 3 {
		t.Errorf("%d records", n)
	}
	if _, err := s.Get(t.Context(), "state/shop/orders.json"); err == nil {
		t.Error("a state document was read as a dead letter")
	}
}

// slowNames needs minutes to name what it holds, as a container with hundreds of thousands of blobs does.
type slowNames struct{ *memstore.Store }

func (s slowNames) List(ctx context.Context, prefix string) ([]string, error) {
	select {
	case <-time.After(3 * time.Minute):
		return s.Store.List(ctx, prefix)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestListWaitsForManyNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New()
		fill(t, mem)
		n := 0
		err := deadletter.NewStore(slowNames{mem}).List(t.Context(), deadletter.Filter{}, func(deadletter.Entry) error {
			n++
			return nil
		}, nil)
		if err != nil || n == 0 {
			t.Errorf("%d records, %v", n, err)
		}
	})
}
