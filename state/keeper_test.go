package state_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

func TestKey(t *testing.T) {
	t.Parallel()
	if got := state.Key("shop", "orders", ""); got != "state/shop/orders.json" {
		t.Error(got)
	}
	if got := state.Key("shop", "orders", "audit"); got != "state/shop/orders.audit.json" {
		t.Error(got)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := state.Config{Store: memstore.New(), Key: key, Poller: "orders", Owner: "shop/a", TTL: ttl}
	for name, spoil := range map[string]func(*state.Config){
		"no store":  func(c *state.Config) { c.Store = nil },
		"no key":    func(c *state.Config) { c.Key = "" },
		"no poller": func(c *state.Config) { c.Poller = "" },
		"no owner":  func(c *state.Config) { c.Owner = "" },
		"no ttl":    func(c *state.Config) { c.TTL = 0 },
		"no time between heartbeat and margin": func(c *state.Config) {
			c.Store, c.TTL = &slow{Store: memstore.New(), margin: 2 * time.Second}, 3*time.Second
		},
	} {
		c := good
		spoil(&c)
		if _, err := state.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := state.New(good); err != nil {
		t.Error(err)
	}
}

func TestLoadFaults(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		k := f.keeper(f.store, ttl)
		_, err := k.Load(f.Context())
		f.wantErr(err, state.ErrNotFound)
		stamp, err := f.mem.Create(f.Context(), key, []byte(strings.Replace(seed, `"orders"`, `"invoices"`, 1)))
		f.must(err)
		_, err = k.Load(f.Context())
		var fault *state.DocumentError
		if !errors.As(err, &fault) || fault.Fault != state.OtherPoller || fault.Key != key {
			f.Errorf("another poller's document: %v", err)
		}
		_, err = f.mem.Replace(f.Context(), key, []byte(`{"version":2}`), stamp.Version)
		f.must(err)
		if _, err = k.Load(f.Context()); !errors.As(err, &fault) || fault.Fault != state.OtherVersion {
			f.Errorf("another version: %v", err)
		}
		if !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "use a newer rowrelay") {
			f.Errorf("%q does not name the document and the mend", err)
		}
		if _, err = k.Create(f.Context(), "sha256:f", "", nil); !errors.As(err, &fault) {
			f.Errorf("creating over it: %v", err)
		}
	})
}

// TestCreateLosesTheRace: the winner's document is what both go on with.
func TestCreateLosesTheRace(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		k := f.keeper(f.store, ttl)
		_, err := k.Create(f.Context(), "sha256:winner", "", at(5))
		f.must(err)
		s, err := k.Create(f.Context(), "sha256:loser", "", at(9))
		f.must(err)
		if s.Doc.SourceFingerprint != "sha256:winner" || !s.Doc.Checkpoint.Cursor.Equal(at(5)) {
			f.Errorf("got %+v", s.Doc)
		}
	})
}

func TestTwins(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		create := func(app, poller, output, fingerprint string) {
			k, err := state.New(state.Config{Store: f.store, Key: state.Key(app, poller, output), Poller: poller, Owner: "x",
				TTL: ttl})
			f.must(err)
			_, err = k.Create(f.Context(), fingerprint, "", nil)
			f.must(err)
		}
		create("shop", "orders", "", "sha256:f")
		create("old-shop", "orders", "", "sha256:f")
		create("other", "orders", "", "sha256:g")
		create("old-shop", "invoices", "", "sha256:f")
		create("old-shop", "orders", "audit", "sha256:f")
		_, err := f.mem.Create(f.Context(), state.Key("broken", "orders", ""), []byte("{"))
		f.must(err)
		got, err := f.keeper(f.store, ttl).Twins(f.Context(), "sha256:f")
		f.must(err)
		if want := []string{"state/old-shop/orders.json"}; !slices.Equal(got, want) {
			f.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, fault := range []storetest.Fault{storetest.None, storetest.NotDone, storetest.DoneButFailed,
		storetest.DoneLater} {
		t.Run(fault.String(), func(t *testing.T) {
			bubble(t, func(f *fixture) {
				k := f.keeper(f.store, ttl)
				l := f.acquire(k)
				s, err := k.Load(f.Context())
				f.must(err)
				rewind := func(d *state.Document) { d.Checkpoint.Cursor, d.Lease.FencingToken = at(7), 0 }
				var held *state.HeldError
				if _, err = k.Edit(f.Context(), s, rewind); !errors.As(err, &held) {
					f.Errorf("editing a held document: %v", err)
				}
				f.release(l)
				_, err = k.Edit(f.Context(), &state.Snapshot{Doc: f.load()}, rewind)
				f.wantErr(err, state.ErrConflict)
				s, err = k.Load(f.Context())
				f.must(err)
				f.store.FailNext(storetest.Replace, fault, 1)
				s, err = k.Edit(f.Context(), s, rewind)
				f.must(err)
				f.store.Land()
				if doc := f.load(); !doc.Checkpoint.Cursor.Equal(at(7)) || doc.Lease.FencingToken != 1 {
					f.Errorf("stored %+v", doc)
				}
				next, err := k.Acquire(f.Context(), s)
				f.must(err)
				f.release(next)
			})
		})
	}
}

// TestReset: the token goes on, whatever is left of the document.
func TestReset(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		token func(now time.Time) uint64
	}{
		"truncated after the lease":  {seed[:len(seed)-20], func(time.Time) uint64 { return 42 }},
		"truncated before the lease": {seed[:200], func(now time.Time) uint64 { return uint64(now.UnixMilli()) }},
		"empty":                      {"", func(now time.Time) uint64 { return uint64(now.UnixMilli()) }},
		"whole":                      {seed, func(time.Time) uint64 { return 42 }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				_, err := f.mem.Create(f.Context(), key, []byte(c.text))
				f.must(err)
				k := f.keeper(f.store, ttl)
				s, err := k.Reset(f.Context(), "sha256:new", "life-2", at(3))
				f.must(err)
				l, err := k.Acquire(f.Context(), s)
				f.must(err)
				if want := c.token(f.mem.Clock()) + 1; l.Token() != want || !s.Doc.Checkpoint.Cursor.Equal(at(3)) {
					f.Errorf("token %d, cursor %s; want %d", l.Token(), s.Doc.Checkpoint.Cursor, want)
				}
				f.release(l)
			})
		})
	}
}

func TestResetOfNothingCreates(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		_, err := f.keeper(f.store, ttl).Reset(f.Context(), "sha256:new", "", nil)
		f.must(err)
		if doc := f.load(); doc.SourceFingerprint != "sha256:new" {
			f.Errorf("stored %+v", doc)
		}
	})
}
