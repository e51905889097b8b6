package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Edit is an operator's change: it replaces the very version that s is by what edit makes of it. The lease and its
// fencing token stay as they are, so that a stale owner stays stale. Errors: *HeldError while somebody holds the lease
// (that instance has to be stopped first), ErrConflict when the document was changed since it was loaded, a
// *DocumentError when it would be too large, or the store's fault.
func (k *Keeper) Edit(ctx context.Context, s *Snapshot, edit func(*Document)) (*Snapshot, error) {
	if held := s.Held(); held != nil {
		return nil, held
	}
	doc := s.Doc
	edit(&doc)
	doc.Lease = s.Doc.Lease
	data, err := doc.checked()
	if err == nil {
		err = k.overwrite(ctx, data, s.version)
	}
	if err != nil {
		return nil, fmt.Errorf("changing %s: %w", k.cfg.Key, err)
	}
	return k.Load(ctx)
}

// checked encodes a document whose members a caller has set: what could not be read again is not written.
func (d *Document) checked() ([]byte, error) {
	data, err := d.Encode()
	if err != nil {
		return nil, err
	}
	var fault *DocumentError
	if _, err := Decode(data); errors.As(err, &fault) {
		return nil, fmt.Errorf("nothing was changed, because no state document can hold this: %s", fault.Detail)
	}
	return data, nil
}

// Reset writes a fresh document over whatever is stored, for an operator whose document cannot be read any more
// (*DocumentError). The fencing token goes on: it is found in the old bytes if it can be, and otherwise begins at the
// store's time in milliseconds, which is above anything that counting by one can have reached. A holder loses its
// lease.
func (k *Keeper) Reset(ctx context.Context, fingerprint, incarnation string, start change.Cursor) (*Snapshot, error) {
	stored, err := retry(ctx, k.patience(), func(ctx context.Context) (Stored, error) {
		return k.cfg.Store.Load(ctx, k.cfg.Key)
	})
	if errors.Is(err, ErrNotFound) {
		return k.Create(ctx, fingerprint, incarnation, start)
	}
	if err != nil {
		return nil, fmt.Errorf("resetting %s: %w", k.cfg.Key, err)
	}
	doc := Document{
		PollerName: k.cfg.Poller, SourceFingerprint: fingerprint,
		Checkpoint: Checkpoint{Cursor: start, Incarnation: incarnation},
		Lease:      LeaseRecord{FencingToken: salvageToken(stored.Data, stored.Now)},
	}
	data, err := doc.Encode()
	if err != nil {
		return nil, fmt.Errorf("resetting %s: %w", k.cfg.Key, err)
	}
	if err := k.overwrite(ctx, data, stored.Version); err != nil {
		return nil, fmt.Errorf("resetting %s: %w", k.cfg.Key, err)
	}
	return k.Load(ctx)
}

// overwrite replaces a version, reading back what was reported as failed.
func (k *Keeper) overwrite(ctx context.Context, data []byte, version Version) error {
	_, err := retry(ctx, k.patience(), func(ctx context.Context) (struct{}, error) {
		_, err := k.cfg.Store.Replace(ctx, k.cfg.Key, data, version)
		if err == nil {
			return struct{}{}, nil
		}
		stored, loadErr := k.cfg.Store.Load(ctx, k.cfg.Key)
		switch {
		case loadErr != nil && !errors.Is(loadErr, ErrNotFound):
			return struct{}{}, err
		case loadErr == nil && bytes.Equal(stored.Data, data):
			return struct{}{}, nil
		case loadErr == nil && stored.Version == version && !permanent(err):
			return struct{}{}, fmt.Errorf("the document is still unchanged: %w", errors.New(err.Error()))
		case loadErr == nil && stored.Version == version:
			return struct{}{}, err
		}
		return struct{}{}, fmt.Errorf("%w since it was shown: look again", ErrConflict)
	})
	return err
}

var tokenPattern = regexp.MustCompile(`"fencing_token"\s*:\s*"?(\d{1,18})\b`)

// salvageToken finds a token that is not below the one in a document that cannot be decoded.
func salvageToken(data []byte, now time.Time) uint64 {
	if found := tokenPattern.FindSubmatch(data); found != nil {
		if n, err := strconv.ParseUint(string(found[1]), 10, 64); err == nil {
			return n
		}
	}
	return uint64(max(now.UnixMilli(), 0))
}
