package state

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// MaxObject is the largest side object that is written, in bytes.
const MaxObject = 64 << 20

// objectRoot is what the keys of side objects begin with.
const objectRoot = "objects/"

// objectPrefix is what the names of a document's side objects begin with, by the document's key.
func objectPrefix(key string) string {
	return objectRoot + strings.TrimSuffix(strings.TrimPrefix(key, root), ".json") + "/"
}

// puts are the objects that the leases of one process write or wrote: those under way are nobody's to delete, and
// those that are done can be deleted without reading them again.
type puts struct {
	mu   sync.Mutex
	made map[string]put // by name
}

// put is one object: its version, underWay while it is not known, and the lease that it was written under.
type put struct {
	version Version
	lease   *Lease
}

const underWay Version = ""

func (p *puts) set(name string, made put) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = map[string]put{}
	}
	p.made[name] = made
}

func (p *puts) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.made, name)
}

// done returns those that are done.
func (p *puts) done() map[string]put {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := map[string]put{}
	for name, made := range p.made {
		if made.version != underWay {
			done[name] = made
		}
	}
	return done
}

func (p *puts) has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.made[name]
	return ok
}

var kindPattern = regexp.MustCompile(`^[a-z]+$`)

// perMiB is what a try is given for each MiB beyond the patience of a small one: 64 MiB need not come within seconds.
const perMiB = time.Second

// PutObject writes an immutable side object of this document and returns its name, for an ObjectRef:
// objects/{app}/{poller} [.{output}]/{kind}-{random}. kind is one lower-case word. The object is written before the
// commit that names it; one that no document names is removed by Collect. Only the holder of a lease may write one,
// operators too: that is how Collect tells what nobody will name any more from what somebody is about to name. Bounds
// and retries are those of Load, with a second more for each MiB. Errors are those of Check, the store's, and one for
// data of more than MaxObject bytes. After an error the object may still appear, unnamed.
func (l *Lease) PutObject(ctx context.Context, kind string, data []byte) (string, error) {
	if err := l.Check(); err != nil {
		return "", fmt.Errorf("writing a side object of kind %s: %w", kind, err)
	}
	return l.keeper.putObject(ctx, kind, data, l)
}

// putObject writes a side object, under a lease, or for a document that is created next (nil).
func (k *Keeper) putObject(ctx context.Context, kind string, data []byte, l *Lease) (string, error) {
	if !kindPattern.MatchString(kind) {
		return "", fmt.Errorf("writing a side object: %q is no kind: it is one lower-case word", kind)
	}
	if len(data) > MaxObject {
		return "", fmt.Errorf("writing a side object of kind %s: it takes %d bytes, the most is %d", kind, len(data),
			MaxObject)
	}
	name := objectPrefix(k.cfg.Key) + kind + "-" + strings.ToLower(rand.Text())
	k.put.set(name, put{underWay, l})
	version, err := retry(ctx, k.patience()+time.Duration(len(data)>>20)*perMiB,
		func(ctx context.Context) (Version, error) {
			stamp, err := k.cfg.Store.Create(ctx, name, data)
			if !errors.Is(err, ErrConflict) {
				return stamp.Version, err
			}
			// Nobody else draws this name: an earlier try of ours was done, or one that the store's client repeated.
			stored, err := k.cfg.Store.Load(ctx, name)
			if err == nil && !bytes.Equal(stored.Data, data) {
				err = &PermanentError{Err: errors.New("the store holds something else under this name")}
			}
			return stored.Version, err
		})
	if err != nil {
		k.put.drop(name)
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	k.put.set(name, put{version, l})
	return name, nil
}

// Object reads a side object. ErrNotFound where there is none. Bounds and retries are those of Load, with half a minute
// more for a large one.
func (k *Keeper) Object(ctx context.Context, name string) ([]byte, error) {
	if !strings.HasPrefix(name, objectRoot) {
		return nil, fmt.Errorf("reading %q: that is no side object: their names begin with %s", name, objectRoot)
	}
	stored, err := retry(ctx, k.patience()+MaxObject>>21*perMiB, func(ctx context.Context) (Stored, error) {
		return k.cfg.Store.Load(ctx, name)
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return stored.Data, nil
}

// Named reads the side objects that a document names, as it was when it was read.
type Named struct {
	k *Keeper
	s *Snapshot
}

// Named returns what reads the side objects that s names.
func (k *Keeper) Named(s *Snapshot) Named { return Named{k, s} }

// Object is [Keeper.Object]. Where an object is missing and the document was written since, which may name others now,
// the error is a *MovedError, whoever holds the lease.
func (n Named) Object(ctx context.Context, name string) ([]byte, error) {
	data, err := n.k.Object(ctx, name)
	if !errors.Is(err, ErrNotFound) {
		return data, err
	}
	now, loading := n.k.Load(ctx)
	if loading != nil || now.version == n.s.version {
		return nil, err
	}
	return nil, &MovedError{Snapshot: now}
}

// Collect deletes the side objects of this document (of the kinds that PutObject wrote, dead letters are none) that
// are not in keep: all that the stored document names and all that a commit under way shall name. It may be called
// after the lease was given back, too. A crash in it leaves objects behind that the next call removes.
//
// It is safe in the hands of a holder who does not know yet that the lease is another's: objects are listed first,
// and then the document is read. Where that still holds our lease, nobody had a later one when they were listed, so
// that none of them is what another is about to name. Where it does not, only what was written under this very lease
// is deleted.
func (l *Lease) Collect(ctx context.Context, keep ...string) error {
	k := l.keeper
	made := k.put.done() // before the list: what is put meanwhile is not ours to judge
	listed, err := retry(ctx, k.patience(), func(ctx context.Context) ([]string, error) {
		return k.cfg.Store.List(ctx, objectPrefix(k.cfg.Key))
	})
	if err != nil {
		return fmt.Errorf("listing the side objects of %s: %w", k.cfg.Key, err)
	}
	s, err := k.Load(ctx)
	if err != nil {
		return fmt.Errorf("collecting side objects: %w", err)
	}
	keep = append(slices.Clone(keep), s.Doc.Objects()...)
	ours := s.Doc.Lease.LeaseID == l.id
	for name := range made {
		if !slices.Contains(listed, name) {
			k.put.drop(name) // another collected it
		}
	}
	var failed error
	for _, name := range listed {
		done, known := made[name]
		own := known && done.lease == l
		if slices.Contains(keep, name) || !own && !ours || !known && k.put.has(name) {
			continue
		}
		if err := k.remove(ctx, name, done.version); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		k.put.drop(name)
	}
	return failed
}

// remove deletes an object; that it is gone already is as good.
func (k *Keeper) remove(ctx context.Context, name string, version Version) error {
	_, err := retry(ctx, k.patience(), func(ctx context.Context) (struct{}, error) {
		if version == "" {
			stored, err := k.cfg.Store.Load(ctx, name)
			if err != nil {
				return struct{}{}, err
			}
			version = stored.Version
		}
		return struct{}{}, k.cfg.Store.Delete(ctx, name, version)
	})
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
		return nil
	}
	return fmt.Errorf("deleting %s: %w", name, err)
}
