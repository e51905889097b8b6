// Package filestore keeps state documents as files of one directory: for rowrelay run, for one machine. The document of
// key state/shop/orders.json is the file state/shop/orders.json below the directory, exactly as it was written, so that
// it can be read with any tool.
//
// A write is a temporary file, flushed to disk, renamed over the document, and the directory flushed: whatever happens,
// a full disk or a power cut included, the document is the old one or the new one, and whole. Reads and writes of one
// document take turns by a lock on a file beside it, also between processes of one machine. It is not safe on network
// file systems whose locks are not.
//
// The version of a document is a counter, kept beside it, together with a hash of its content. The hash makes an edit
// by hand count as a change; the counter tells two writes of equal content apart.
package filestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// New returns a Store below dir (the setting state__path), which it creates where it does not exist.
func New(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("state__path %s: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o750); err != nil {
		return nil, explain(fmt.Errorf("creating the directory of the state store: %w", err))
	}
	return &Store{dir: abs}, nil
}

// Margin implements [state.Store]. Holder and takers read the same machine's clock, which may be set while we run.
func (s *Store) Margin(ttl time.Duration) time.Duration { return ttl / 5 }

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, key string) (state.Stored, error) {
	file := s.file(key)
	// Without a lock, so that looking for a document that is not there leaves nothing behind.
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return state.Stored{}, state.ErrNotFound
	}
	unlock, err := s.lock(ctx, file)
	if err != nil {
		return state.Stored{}, err
	}
	defer unlock()
	data, version, err := read(file)
	if err != nil {
		return state.Stored{}, err
	}
	return state.Stored{Data: data, Stamp: state.Stamp{Version: version, Now: time.Now()}}, nil
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	return s.put(ctx, key, data, "")
}

// Replace implements [state.Store].
func (s *Store) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	if version == "" { // no document has it
		return state.Stamp{}, state.ErrConflict
	}
	return s.put(ctx, key, data, version)
}

// put writes a document whose version is still version, "" for none.
func (s *Store) put(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	file := s.file(key)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return state.Stamp{}, explain(fmt.Errorf("creating the directory of a state document: %w", err))
	}
	unlock, err := s.lock(ctx, file)
	if err != nil {
		return state.Stamp{}, err
	}
	defer unlock()
	_, stored, err := read(file)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return state.Stamp{}, err
	}
	if stored != version {
		return state.Stamp{}, state.ErrConflict
	}
	count := counter(file) + 1
	if version == "" && count == 1 {
		// A life of its own: Delete removes the counter of the one before.
		count = uint64(max(time.Now().UnixNano(), 1))
	}
	// The counter is written between the two halves of the document's own write. A disk that is full shows before it, and
	// leaves version and document as they were. A crash after it leaves the old document under a new version, and whoever
	// wanted to replace it has to look again. The other way round, one version could name two documents.
	to := func(count uint64) error {
		return os.WriteFile(counterFile(file), strconv.AppendUint(nil, count, 10), 0o600)
	}
	err = s.replaceFile(file, data, func() error { return to(count) }, func() {
		if version != "" {
			_ = to(count - 1) // where even this fails, the document seems to be changed
		}
	})
	if err != nil {
		if _, there := os.Stat(file); version == "" && errors.Is(there, fs.ErrNotExist) {
			s.removeHelpers(file) // each try of a side object has a name of its own: they would fill the disk, too
		}
		return state.Stamp{}, explain(fmt.Errorf("writing a state document: %w", err))
	}
	return state.Stamp{Version: versionOf(count, data), Now: time.Now()}, nil
}

// List implements [state.Store]. It walks the part of the directory that can hold such keys.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	top := s.dir
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		top = s.file(prefix[:i])
	}
	err := filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case file == top && errors.Is(err, fs.ErrNotExist):
			return nil // nothing was ever written there
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir() || strings.HasPrefix(entry.Name(), helperPrefix):
			return nil
		}
		relative, err := filepath.Rel(s.dir, file)
		if err != nil {
			return err
		}
		if key, ok := unescape(filepath.ToSlash(relative)); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, explain(fmt.Errorf("listing state documents: %w", err))
	}
	slices.Sort(keys)
	return keys, nil
}

// Delete implements [state.Store]. Counter and lock go with the document, as side objects come and go by the thousand;
// a new document of that key begins to count at the present time, so that no version comes twice.
func (s *Store) Delete(ctx context.Context, key string, version state.Version) error {
	file := s.file(key)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return state.ErrConflict
	}
	unlock, err := s.lock(ctx, file)
	if err != nil {
		return err
	}
	defer unlock()
	_, stored, err := read(file)
	if errors.Is(err, state.ErrNotFound) || err == nil && stored != version {
		return state.ErrConflict
	}
	if err == nil {
		err = os.Remove(file)
	}
	if err == nil {
		err = syncDir(filepath.Dir(file))
	}
	if err != nil {
		return explain(fmt.Errorf("deleting a state document: %w", err))
	}
	s.removeHelpers(file)
	return nil
}

// removeHelpers takes away what stands beside a document that is not there, for whoever holds its lock. It is best
// effort: they harm nobody. Whoever waits for this lock finds that it is not the file's any more (see lock).
func (s *Store) removeHelpers(file string) {
	_ = os.Remove(counterFile(file))
	_ = os.Remove(lockFile(file))
	s.locks.Delete(file)
}

// read returns a document and its version.
func read(file string) ([]byte, state.Version, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the path is made from an escaped key
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", state.ErrNotFound
	}
	if err != nil {
		return nil, "", explain(fmt.Errorf("reading a state document: %w", err))
	}
	return data, versionOf(counter(file), data), nil
}

// counter returns how often a document was written. A counter that is missing or torn (it is not flushed: after a power
// cut no process remembers a version) counts as 0; the hash still tells versions apart.
func counter(file string) uint64 {
	text, err := os.ReadFile(counterFile(file)) //nolint:gosec // the path is made from an escaped key
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func versionOf(count uint64, data []byte) state.Version {
	sum := sha256.Sum256(data)
	return state.Version(strconv.FormatUint(count, 10) + "-" + hex.EncodeToString(sum[:8]))
}
