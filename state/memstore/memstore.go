// Package memstore keeps state documents in memory: for tests, and for trying things out. What it holds is gone with
// the process, so that every start begins where source__start says (state__kind=memory).
package memstore

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// New returns an empty Store.
func New() *Store { return &Store{} }

// Store is a [state.Store] in memory. Its zero value is empty and ready for use.
type Store struct {
	// Clock is the store's clock; nil means time.Now. It is set before the first use.
	Clock func() time.Time

	mu      sync.Mutex
	entries map[string]entry
	writes  uint64 // never reset, so that no version comes twice
}

type entry struct {
	data    []byte
	version state.Version
}

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, key string) (state.Stored, error) {
	if err := ctx.Err(); err != nil {
		return state.Stored{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok {
		return state.Stored{}, state.ErrNotFound
	}
	return state.Stored{Data: bytes.Clone(e.data), Stamp: s.stamp(e.version)}, nil
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
	if err := ctx.Err(); err != nil {
		return state.Stamp{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[key].version != version {
		return state.Stamp{}, state.ErrConflict
	}
	if s.entries == nil {
		s.entries = map[string]entry{}
	}
	s.writes++
	e := entry{data: bytes.Clone(data), version: state.Version(strconv.FormatUint(s.writes, 10))}
	s.entries[key] = e
	return s.stamp(e.version), nil
}

// List implements [state.Store].
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.entries {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// Delete implements [state.Store].
func (s *Store) Delete(ctx context.Context, key string, version state.Version) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[key]; !ok || e.version != version {
		return state.ErrConflict
	}
	delete(s.entries, key)
	return nil
}

// Margin implements [state.Store]: there is one clock, and it is exact.
func (s *Store) Margin(time.Duration) time.Duration { return 0 }

func (s *Store) stamp(version state.Version) state.Stamp {
	now := time.Now
	if s.Clock != nil {
		now = s.Clock
	}
	return state.Stamp{Version: version, Now: now()}
}
