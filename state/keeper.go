package state

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/change"
)

// Config says what a Keeper keeps. Every member but Alive is required.
type Config struct {
	Store  Store
	Key    string        // see [Key]
	Poller string        // poller_name in the document
	Owner  string        // owner_id, for people: "<app>/<instance>"
	TTL    time.Duration // how long a lease lives without a heartbeat
	// Alive knows of holders that have died; nil: their leases expire.
	Alive alive.Marker
}

// Key returns the key of a poller's document: state/{app}/{poller}.json, or state/{app}/{poller}.{output}.json for an
// output that has a position of its own.
func Key(app, poller, output string) string {
	if output != "" {
		poller += "." + output
	}
	return root + app + "/" + poller + ".json"
}

const root = "state/"

// Keeper keeps one document and the side objects that it names. It may be used by several goroutines.
type Keeper struct {
	cfg    Config
	margin time.Duration
	put    puts
}

// New returns a Keeper, or an error when the ttl leaves no time between a heartbeat and the store's margin.
func New(cfg Config) (*Keeper, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("state: a keeper needs a store")
	case cfg.Key == "" || cfg.Poller == "" || cfg.Owner == "":
		return nil, errors.New("state: a keeper needs a key, a poller and an owner")
	case cfg.TTL <= 0:
		return nil, fmt.Errorf("lease_ttl is %s: it must be positive", cfg.TTL)
	}
	margin := cfg.Store.Margin(cfg.TTL)
	if cfg.TTL-margin <= cfg.TTL/3 {
		return nil, fmt.Errorf("lease_ttl is %s, but this store's clock may be off by %s: no heartbeat could come in time; raise lease_ttl to %s or more",
			cfg.TTL, margin, 3*margin)
	}
	return &Keeper{cfg: cfg, margin: margin}, nil
}

// patience is how long one attempt to read or create the document may take, and how long attempts are begun.
func (k *Keeper) patience() time.Duration { return max(k.cfg.TTL/3, 5*time.Second) }

// Load reads the document: one read, repeated a few times when the store falters. A store that does not answer at all
// is waited for during a third of the ttl, 5 s at least, and twice that at most where it falters first. Errors:
// ErrNotFound where there is no document yet, *DocumentError for one that cannot be used, *SilentError in that of a
// store that hangs.
func (k *Keeper) Load(ctx context.Context) (*Snapshot, error) {
	s, err := retry(ctx, k.patience(), k.load)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", k.cfg.Key, err)
	}
	return s, nil
}

// load reads the document once.
func (k *Keeper) load(ctx context.Context) (*Snapshot, error) {
	sent := time.Now()
	stored, err := k.cfg.Store.Load(ctx, k.cfg.Key)
	if err != nil {
		return nil, err
	}
	doc, err := Decode(stored.Data)
	if err == nil && doc.PollerName != k.cfg.Poller {
		err = &DocumentError{Fault: OtherPoller,
			Detail: fmt.Sprintf("poller_name is %q, not %q", doc.PollerName, k.cfg.Poller)}
	}
	var fault *DocumentError
	if errors.As(err, &fault) {
		fault.Key = k.cfg.Key
		return nil, fault
	}
	return k.snapshot(doc, stored.Stamp, sent), nil
}

func (k *Keeper) snapshot(doc Document, stamp Stamp, sent time.Time) *Snapshot {
	return &Snapshot{
		Doc: doc, version: stamp.Version, alive: k.cfg.Alive,
		clock: storeClock{now: stamp.Now, sent: sent, received: time.Now()},
	}
}

// Create writes the first document, free and with token 0. Where another was quicker it loads what that one wrote: the
// caller compares fingerprints either way. A write whose outcome is unknown is read back; if it lands later than that,
// it conflicts with our own second one, which says the same.
func (k *Keeper) Create(ctx context.Context, fingerprint, incarnation string, start change.Cursor) (*Snapshot, error) {
	return k.CreateWith(ctx, Document{SourceFingerprint: fingerprint,
		Checkpoint: Checkpoint{Cursor: start, Incarnation: incarnation}}, "", nil)
}

// CreateWith is Create with what else a document may begin with: what is remembered of late commits, its memory as a
// side object of a kind unless that is nil, and a backfill. The poller's name is the keeper's.
func (k *Keeper) CreateWith(ctx context.Context, doc Document, kind string, memory []byte) (*Snapshot, error) {
	doc.PollerName = k.cfg.Poller
	if memory != nil {
		name, err := k.putObject(ctx, kind, memory, nil)
		if err != nil {
			return nil, fmt.Errorf("creating %s: %w", k.cfg.Key, err)
		}
		doc.Late.Memory.Object = name
	}
	data, err := doc.Encode()
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", k.cfg.Key, err)
	}
	s, err := retry(ctx, k.patience(), func(ctx context.Context) (*Snapshot, error) {
		sent := time.Now()
		stamp, err := k.cfg.Store.Create(ctx, k.cfg.Key, data)
		if err == nil {
			return k.snapshot(doc, stamp, sent), nil
		}
		s, loadErr := k.load(ctx)
		if errors.Is(loadErr, ErrNotFound) {
			// A conflict and nothing there: it was deleted in between. Not hopeless, so it must not look like it.
			if errors.Is(err, ErrConflict) {
				return nil, errors.New("the document appeared and vanished again")
			}
			return nil, err
		}
		return s, loadErr
	})
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", k.cfg.Key, err)
	}
	return s, nil
}

// Twins returns the keys of documents that belong to the same poller and output and to the same source, under another
// app name: a sign that state__app_name changed, and that this poller is about to deliver everything again. Documents
// that cannot be read are passed over. All of it takes a third of the ttl (5 s at least) at most: it is only a hint.
func (k *Keeper) Twins(ctx context.Context, fingerprint string) ([]string, error) {
	return bounded(ctx, k.patience(), func(ctx context.Context) ([]string, error) { return k.twins(ctx, fingerprint) })
}

func (k *Keeper) twins(ctx context.Context, fingerprint string) ([]string, error) {
	keys, err := k.cfg.Store.List(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("listing state documents: %w", err)
	}
	var twins []string
	for _, key := range keys {
		if key == k.cfg.Key || path.Base(key) != path.Base(k.cfg.Key) {
			continue
		}
		stored, err := k.cfg.Store.Load(ctx, key)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return twins, fmt.Errorf("loading %s: %w", key, err)
		}
		doc, err := Decode(stored.Data)
		if err == nil && fingerprint != "" && doc.SourceFingerprint == fingerprint {
			twins = append(twins, key)
		}
	}
	return twins, nil
}

// loadTries is how often one load or creation is tried before its error is the caller's: the next tick tries again.
const loadTries = 4

// retry repeats op while its error may mend itself. No try takes longer than patience, and none begins later: a store
// that hangs is not asked again.
func retry[T any](ctx context.Context, patience time.Duration, op func(context.Context) (T, error)) (T, error) {
	return backoff.Retry(ctx, func() (T, error) {
		v, err := bounded(ctx, patience, op)
		if err != nil && final(err) {
			return v, backoff.Permanent(err)
		}
		return v, err
	}, backoff.WithBackOff(pauses(2*time.Second)), backoff.WithMaxTries(loadTries), backoff.WithMaxElapsedTime(patience))
}

// bounded gives op at most patience. The error of one that was cut short says what cut it short.
func bounded[T any](ctx context.Context, patience time.Duration, op func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, &SilentError{patience})
	defer cancel()
	v, err := op(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !final(err) && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return v, err
}

// pauses are the pauses between tries: 50 ms at first, doubling up to the longest, each varied by half so that
// instances that failed together do not come back together.
func pauses(longest time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: min(50*time.Millisecond, longest), MaxInterval: longest, Multiplier: 2, RandomizationFactor: 0.5,
	}
}
