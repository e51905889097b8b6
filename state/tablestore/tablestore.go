// Package tablestore keeps state documents in one table of an Azure Storage account (state__kind=table), without a
// container of blobs. Conditional writes by ETag make it linearizable.
//
// A document is a partition of the table: its head is an entity that holds it, or, where it is too large for one, says
// which further entities do. Those are written before the head and removed after it, so that a head is whole; after a
// crash in between some may stay that no head names.
//
// The identity that the app runs under needs the role Storage Table Data Contributor on the table. The table is created
// only when the store is told to; locally the same code runs against Azurite.
package tablestore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/rowrelay/rowrelay/state"
)

// margin is how far the clocks of a storage account's front ends, read at the Date header's resolution of one second,
// may be apart.
const margin = 2 * time.Second

// An entity has at most 1 MiB, a property 64 KiB.
const (
	entitySize = 14 * propertySize
)

// New returns a Store. It does not connect.
func New(cfg Config) (*Store, error) {
	if cfg.Client == nil {
		return nil, errors.New("tablestore: a table client is required")
	}
	return &Store{cfg}, nil
}

// Margin implements [state.Store].
func (*Store) Margin(time.Duration) time.Duration { return margin }

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, key string) (state.Stored, error) {
	var raw *http.Response
	found, err := s.get(policy.WithCaptureResponse(ctx, &raw), key, head)
	if err != nil {
		if s.unmade(err) {
			err = state.ErrNotFound // a table that is yet to be created holds nothing
		}
		return state.Stored{}, s.explain("reading a state document", err)
	}
	stamp, err := stampOf(found.ETag, raw)
	if err != nil {
		return state.Stored{}, err
	}
	loaded := state.Stored{Data: found.data(), Stamp: stamp}
	for part := 1; part <= found.Parts; part++ {
		next, err := s.get(ctx, key, partName(found.Of, part))
		if hasCode(err, aztables.ResourceNotFound) {
			return state.Stored{}, errors.New("reading a state document: it was changed meanwhile") // worth another look
		}
		if err != nil {
			return state.Stored{}, s.explain("reading a state document", err)
		}
		loaded.Data = append(loaded.Data, next.data()...)
	}
	return loaded, nil
}

func (s *Store) get(ctx context.Context, key, row string) (*entity, error) {
	got, err := s.cfg.Client.GetEntity(ctx, escape(key), row, nil)
	if err != nil {
		return nil, err
	}
	found := &entity{}
	if err := json.Unmarshal(got.Value, found); err != nil {
		return nil, &state.PermanentError{Err: fmt.Errorf("the entity %s is none that Rowrelay wrote: %w", key, err)}
	}
	found.ETag = got.ETag
	return found, nil
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	stamp, err := s.put(ctx, key, data, s.add)
	if s.unmade(err) {
		_, made := s.cfg.Client.CreateTable(ctx, nil)
		if made != nil && !hasCode(made, aztables.TableAlreadyExists) {
			return state.Stamp{}, s.explain("creating the table "+s.cfg.Table, made)
		}
		stamp, err = s.put(ctx, key, data, s.add)
	}
	return stamp, s.explain("creating a state document", err)
}

// Replace implements [state.Store]. Only documents are replaced, which one entity holds: a side object never is.
func (s *Store) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	if !strings.HasPrefix(string(version), `W/"`) { // no entity has it, and the service refuses it as a condition
		return state.Stamp{}, state.ErrConflict
	}
	if len(data) > entitySize {
		return state.Stamp{}, &state.PermanentError{Err: fmt.Errorf("%s cannot become larger than %d bytes", key, entitySize)}
	}
	tag := azcore.ETag(version)
	stamp, err := s.put(ctx, key, data, func(ctx context.Context, entity []byte) (azcore.ETag, error) {
		got, err := s.cfg.Client.UpdateEntity(ctx, entity,
			&aztables.UpdateEntityOptions{IfMatch: &tag, UpdateMode: aztables.UpdateModeReplace})
		return got.ETag, err
	})
	return stamp, s.explain("writing a state document", s.conflictIfGone(err))
}

func (s *Store) add(ctx context.Context, entity []byte) (azcore.ETag, error) {
	got, err := s.cfg.Client.AddEntity(ctx, entity, nil)
	return got.ETag, err
}

// put writes the parts of a document, and then its head by write.
func (s *Store) put(ctx context.Context, key string, data []byte,
	write func(ctx context.Context, entity []byte) (azcore.ETag, error)) (state.Stamp, error) {
	e := newEntity(key, head, data[:min(len(data), entitySize)])
	if rest := data[min(len(data), entitySize):]; len(rest) > 0 {
		e.Of = rand.Text()
		for part := range slices.Chunk(rest, entitySize) {
			e.Parts++
			if _, err := s.add(ctx, newEntity(key, partName(e.Of, e.Parts), part).encode()); err != nil {
				return state.Stamp{}, err
			}
		}
	}
	var raw *http.Response
	tag, err := write(policy.WithCaptureResponse(ctx, &raw), e.encode())
	if err != nil {
		return state.Stamp{}, err
	}
	return stampOf(tag, raw)
}

// Delete implements [state.Store].
func (s *Store) Delete(ctx context.Context, key string, version state.Version) error {
	const doing = "deleting a state document"
	found, err := s.get(ctx, key, head)
	if err == nil && found.ETag != azcore.ETag(version) {
		return state.ErrConflict
	}
	if err == nil {
		_, err = s.cfg.Client.DeleteEntity(ctx, escape(key), head, &aztables.DeleteEntityOptions{IfMatch: &found.ETag})
	}
	if err != nil {
		return s.explain(doing, s.conflictIfGone(err))
	}
	anything := azcore.ETagAny
	for part := 1; part <= found.Parts; part++ {
		_, err := s.cfg.Client.DeleteEntity(ctx, escape(key), partName(found.Of, part),
			&aztables.DeleteEntityOptions{IfMatch: &anything})
		if err != nil && !hasCode(err, aztables.ResourceNotFound) {
			return s.explain(doing, err)
		}
	}
	return nil
}

// List implements [state.Store].
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	filter, only := "RowKey eq '"+head+"'", "PartitionKey"
	if from := escape(prefix); from != "" {
		filter = "PartitionKey ge '" + from + "' and PartitionKey lt '" + from + "~' and " + filter
	}
	pages := s.cfg.Client.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter, Select: &only})
	var keys []string
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if s.unmade(err) {
			return nil, nil
		}
		if err != nil {
			return nil, s.explain("listing state documents", err)
		}
		for _, raw := range page.Entities {
			var e entity
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, fmt.Errorf("listing state documents: %w", err)
			}
			if key, err := url.PathUnescape(strings.ReplaceAll(e.PartitionKey, "!", "%")); err == nil {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// stampOf reads the store's clock off an answer. Without it, nobody could judge when a lease ends.
func stampOf(tag azcore.ETag, answer *http.Response) (state.Stamp, error) {
	if answer == nil || tag == "" {
		return state.Stamp{}, errors.New("the storage account's answer has no ETag")
	}
	now, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return state.Stamp{}, errors.New("the storage account's answer has no Date")
	}
	return state.Stamp{Version: state.Version(tag), Now: now}, nil
}

// partName is the row of a further entity: n of those that were written together.
func partName(of string, n int) string { return of + "-" + strconv.Itoa(n) }
