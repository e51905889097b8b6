package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/state"
)

func newStateImport(t *target) *cobra.Command {
	var keys []string
	cmd := t.flags(&cobra.Command{
		Use:   "import <poller> <file>",
		Short: "Take over the position from a state document of azure-functions-db",
		Long: `Import reads a state document of azure-functions-db-python (the blob state/{poller}.json in its container), and creates the
state document of a poller that has none yet, at its position. Stop the old function first: its lease must be free or expired.

The document holds the values of cursor_column and pk_columns, and not their names: source__cursor and source__key must name the
same columns, in the same order. Where the key has several columns, --key says how pk_columns names them. A value that would not
be the same in Rowrelay is refused, with what to do instead.`,
		Example: "  rowrelay state import orders blob.json\n  rowrelay state import orders blob.json --key tenant,id",
		Args:    cobra.ExactArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return t.imports(cmd.Context(), args[0], args[1], keys) },
	})
	cmd.Flags().StringSliceVar(&keys, "key", nil, "pk_columns of the old function, in its order; needed where there are several")
	cmd.Flags().Lookup("key").DefValue = "" // none, which help need not say as []
	return cmd
}

// foreign is as much of azure-functions-db's document as a position needs.
type foreign struct {
	Version    int `json:"version"`
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

func (t *target) imports(ctx context.Context, name, path string, keys []string) error {
	a, w, out, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // the document is written or not by now
	doc, err := readForeign(path)
	if err != nil {
		return err
	}
	described, err := w.source.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing the source: %w", err)
	}
	cursor, err := doc.cursor(ctx, w.source, keys)
	if err != nil {
		return fmt.Errorf("%s: its position does not fit the settings: %w", path, err)
	}
	_, incarnation, err := w.source.Start(ctx)
	if err != nil {
		return err
	}
	// What the table makes of the position shows whether it is one.
	left, err := w.source.Count(ctx, change.Range{After: cursor})
	if err != nil {
		return fmt.Errorf("%s: its position does not fit the settings: %w", path, err)
	}
	if _, err := out.keeper.Load(ctx); !errors.Is(err, state.ErrNotFound) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%s has a state document already (%s): nothing is written over it; `rowrelay state reset` moves it", w.cfg.Name, out.key)
	}
	if err := t.say("%s (batch %s) will go on at %s: %d row(s) lie after it.\n  document  %s",
		w.cfg.Name, orNone(doc.Checkpoint.Batch+doc.Checkpoint.BatchID), cursor, left, out.key); err != nil {
		return err
	}
	if t.dryRun {
		return t.idle("dry run: nothing was changed")
	}
	if !t.yes {
		if err := confirm(t.console, w.cfg.Name); err != nil {
			return err
		}
	}
	snap, err := out.keeper.Create(ctx, described.Fingerprint, incarnation, cursor)
	if err != nil {
		return err
	}
	op := &operation{target: t, app: a, w: w, out: out, snap: snap}
	op.audit("checkpoint_imported", "to", cursor.String(), "file", path)
	return op.done("done")
}

// readForeign reads a document that nobody holds the lease of.
func readForeign(path string) (*foreign, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc foreign
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s is no state document: %w", path, err)
	}
	switch at := doc.Checkpoint.Cursor; {
	case doc.Version != 1:
		return nil, fmt.Errorf("%s is no state document of azure-functions-db: it needs version 1, and has %d", path, doc.Version)
	case len(at) == 0 || string(at) == "null":
		return nil, fmt.Errorf("%s is no state document of azure-functions-db with a position: its checkpoint has no cursor, because that function has "+
			"delivered no batch (it stores no date, for instance); begin with source__start instead", path)
	case doc.Lease.OwnerID != "" && doc.Lease.ExpiresAt.After(time.Now()):
		return nil, fmt.Errorf("%s: %s holds its lease until %s: stop that function first, or both deliver",
			path, doc.Lease.OwnerID, doc.Lease.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return &doc, nil
}

// cursor writes the position in Rowrelay's form.
func (f *foreign) cursor(ctx context.Context, src *source.Cursor, keys []string) (change.Cursor, error) {
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
			return nil, fmt.Errorf("its cursor's kind is %q, which has no key: it cannot tell rows of one value apart; begin with source__start instead", c.Kind)
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
		return nil, fmt.Errorf("its cursor is %s, one value without a key: it cannot tell rows of one value apart; begin with source__start instead", at)
	}
}
