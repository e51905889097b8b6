package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// Clone gives to, a poller of the same source that has no document yet, the position of this one. from and to are how
// their pollers were named.
func (d *Document) Clone(ctx context.Context, from string, other *Document, to string) (*Plan, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	source, err := other.Source.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", to, err)
	}
	if source.Fingerprint != d.snap.Doc.SourceFingerprint {
		return nil, fmt.Errorf("%s reads another source, where the position means nothing (its fingerprint is %s, that of "+
			"the document of %s is %s)", to, source.Fingerprint, from, d.snap.Doc.SourceFingerprint)
	}
	if err := other.absent(ctx); err != nil {
		if errors.Is(err, errExists) {
			err = fmt.Errorf("%s has a state document already (%s): nothing is written over it", to, other.Key)
		}
		return nil, err
	}
	p := d.plan("%s will begin at the position of %s, in %s.", to, from, other.Key)
	if n := d.parked(ctx, &p).rows; n > 0 {
		p.What += fmt.Sprintf("\n%d parked event(s) stay with %s: %s does not get them until their rows change.", n, from, to)
	}
	p.apply = func(ctx context.Context, _ *Result) error {
		if _, err := other.Keeper.Clone(ctx, d.snap.Doc); err != nil {
			return err
		}
		d.audit("checkpoint_cloned", "to", to)
		return nil
	}
	return &p, nil
}

// errExists: there is a document.
var errExists = errors.New("there is a state document already")

// absent is an error unless there is no document.
func (d *Document) absent(ctx context.Context) error {
	_, err := d.Keeper.Load(ctx)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return errExists
}

// Foreign reads positions that another program has written. *source.Cursor implements it.
type Foreign interface {
	// Foreign makes a position of the cursor's value and those of the key, whose columns are keys.
	Foreign(ctx context.Context, parts []json.RawMessage, keys []string) (change.Cursor, error)
	// InForm spells a position as the source does.
	InForm(ctx context.Context, at change.Cursor) (change.Cursor, error)
}

// foreignDocument is as much of azure-functions-db's document as a position needs.
type foreignDocument struct {
	Version    int    `json:"version"`
	Poller     string `json:"poller_name"`
	Checkpoint struct {
		// Cursor is a list, [cursor_column's value, pk_columns' values…], as every release on PyPI writes it; or an
		// object with a kind, a value and a tiebreaker, as its specification has it.
		Cursor  json.RawMessage `json:"cursor"`
		Batch   string          `json:"batch_id"`
		BatchID string          `json:"last_successful_batch_id"`
	} `json:"checkpoint"`
	Lease struct {
		OwnerID   string    `json:"owner_id"`
		ExpiresAt time.Time `json:"expires_at"`
	} `json:"lease"`
}

// Import creates the document of a poller that has none yet, at the position in a state document of azure-functions-db.
// keys are its pk_columns, which are needed where there are several.
func (d *Document) Import(ctx context.Context, from Foreign, path string, keys []string) (*Plan, error) {
	doc, err := readForeign(path)
	if err != nil {
		return nil, err
	}
	source, err := d.Source.Describe(ctx)
	if err != nil {
		return nil, err
	}
	cursor, err := doc.cursor(ctx, from, keys)
	if err != nil {
		return nil, fmt.Errorf("%s: its position does not fit the settings: %w", path, err)
	}
	_, incarnation, err := d.Source.Start(ctx)
	if err != nil {
		return nil, err
	}
	// What the table makes of the position shows whether it is one.
	left, err := d.Positions.Count(ctx, change.Range{After: cursor})
	if err != nil {
		return nil, fmt.Errorf("%s: its position does not fit the settings: %w", path, err)
	}
	ahead, err := d.Positions.Ahead(ctx, cursor)
	if err != nil {
		return nil, err
	}
	if err := d.absent(ctx); err != nil {
		if errors.Is(err, errExists) {
			err = fmt.Errorf("%s has a state document already (%s): nothing is written over it; `rowrelay state reset` "+
				"moves it", d.Poller, d.Key)
		}
		return nil, err
	}
	p := &Plan{What: fmt.Sprintf("%s (batch %s of %s) will go on at %s: %d row(s) lie after it.", d.Poller,
		cmp.Or(doc.Checkpoint.Batch+doc.Checkpoint.BatchID, "none"), cmp.Or(doc.Poller, "an unnamed poller"), cursor, left)}
	if ahead { // a document of another table, perhaps
		p.What += noRowAbove
	}
	p.What += "\n  document  " + d.Key
	p.apply = func(ctx context.Context, _ *Result) error {
		if _, err := d.Keeper.Create(ctx, source.Fingerprint, incarnation, cursor); err != nil {
			return err
		}
		d.audit("checkpoint_imported", "to", cursor.String(), "file", path)
		return nil
	}
	return p, nil
}

// readForeign reads a document that nobody holds the lease of.
func readForeign(path string) (*foreignDocument, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc foreignDocument
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s is no state document: %w", path, err)
	}
	switch at := doc.Checkpoint.Cursor; {
	case doc.Version != 1:
		return nil, fmt.Errorf("%s is no state document of azure-functions-db: it needs version 1, and has %d", path,
			doc.Version)
	case len(at) == 0 || string(at) == "null":
		return nil, fmt.Errorf("%s is no state document of azure-functions-db with a position: its checkpoint has no "+
			"cursor. That function has delivered no batch (it cannot store a date, for instance): begin with source__start "+
			"instead", path)
	case doc.Lease.OwnerID != "" && doc.Lease.ExpiresAt.After(time.Now()):
		return nil, fmt.Errorf("%s: %s holds its lease until %s: stop that function first, or both deliver",
			path, doc.Lease.OwnerID, doc.Lease.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return &doc, nil
}

// cursor writes the position in Rowrelay's form.
func (f *foreignDocument) cursor(ctx context.Context, src Foreign, keys []string) (change.Cursor, error) {
	switch at := bytes.TrimSpace(f.Checkpoint.Cursor); at[0] {
	case '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(at, &parts); err != nil {
			return nil, err
		}
		return src.Foreign(ctx, parts, keys)
	case '{':
		var c struct {
			Kind       string          `json:"kind"`
			Value      json.RawMessage `json:"value"`
			Tiebreaker json.RawMessage `json:"tiebreaker"`
		}
		if err := json.Unmarshal(at, &c); err != nil {
			return nil, err
		}
		if !strings.HasSuffix(c.Kind, "+pk") || len(c.Value) == 0 {
			return nil, fmt.Errorf("its cursor's kind is %q, which has no key: it cannot tell rows of one value apart; "+
				"begin with source__start instead", c.Kind)
		}
		parts := fmt.Appendf(nil, `{"kind":%q,"value":%s`, c.Kind, c.Value)
		if len(c.Tiebreaker) > 0 && string(c.Tiebreaker) != "null" {
			parts = fmt.Appendf(parts, `,"tiebreaker":%s`, c.Tiebreaker)
		}
		cursor, err := change.ParseCursor(append(parts, '}'))
		if err != nil {
			return nil, err
		}
		return src.InForm(ctx, cursor)
	default:
		return nil, fmt.Errorf("its cursor is %s, one value without a key: it cannot tell rows of one value apart; "+
			"begin with source__start instead", at)
	}
}
