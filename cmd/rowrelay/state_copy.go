package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// exportFormat tells an export from any other JSON.
const exportFormat = "rowrelay-position/1"

// export is what `state export` writes and `state reset --to file=` reads.
type export struct {
	Format      string        `json:"format"`
	Poller      string        `json:"poller"`
	Fingerprint string        `json:"source_fingerprint"`
	Position    change.Cursor `json:"position"`
	Incarnation string        `json:"incarnation"`
	BatchID     string        `json:"last_successful_batch_id"`
	UpdatedAt   time.Time     `json:"updated_at"`
	ExportedAt  time.Time     `json:"exported_at"`
}

func newStateExport(t *target) *cobra.Command {
	return &cobra.Command{
		Use:     "export <poller>",
		Short:   "Write the position as JSON, for reset --to file=",
		Example: "  rowrelay state export orders > orders.json\n  rowrelay state reset orders --to file=orders.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, err := t.begin(cmd.Context(), args[0])
			defer op.end()
			if err != nil {
				return err
			}
			doc := &op.snap.Doc
			encoder := json.NewEncoder(t.out)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			return encoder.Encode(export{
				Format: exportFormat, Poller: doc.PollerName, Fingerprint: doc.SourceFingerprint, Position: doc.Checkpoint.Cursor,
				Incarnation: doc.Checkpoint.Incarnation, BatchID: doc.Checkpoint.LastBatchID, UpdatedAt: doc.Checkpoint.UpdatedAt, ExportedAt: time.Now().UTC(),
			})
		},
	}
}

func newStateClone(t *target) *cobra.Command {
	return t.flags(&cobra.Command{
		Use:   "clone <poller> <new poller>",
		Short: "Give a new poller of the same source the position of another",
		Long: `Clone creates the state document of a poller that has none yet, at the position of another. Both have to be in the settings,
with the same source definition. Parked events, a pause, a backfill and the memory of late commits stay with the old one: what
committed late within the last window is delivered to the new one from the window's low edge on.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return t.clone(cmd.Context(), args[0], args[1]) },
	})
}

func (t *target) clone(ctx context.Context, from, to string) error {
	op, err := t.begin(ctx, from)
	defer op.end()
	if err != nil {
		return err
	}
	w, out, err := t.find(ctx, op.app, to)
	if err != nil {
		return err
	}
	source, err := w.source.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing the source of %s: %w", to, err)
	}
	if source.Fingerprint != op.snap.Doc.SourceFingerprint {
		return fmt.Errorf("%s reads another source (its fingerprint is %s, that of the document of %s is %s): a position means nothing there",
			to, source.Fingerprint, from, op.snap.Doc.SourceFingerprint)
	}
	if _, err := out.keeper.Load(ctx); !errors.Is(err, state.ErrNotFound) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%s has a state document already (%s): nothing is written over it", to, out.key)
	}
	what := fmt.Sprintf("%s will begin at the position of %s, in %s.", to, from, out.key)
	if n := op.snap.Doc.Parked.Count; n > 0 {
		what += fmt.Sprintf("\n%d parked event(s) stay with %s: %s does not get them until their rows change.", n, from, to)
	}
	ok, err := op.agreed(what)
	if err != nil || !ok {
		return err
	}
	if _, err := out.keeper.Clone(ctx, op.snap.Doc); err != nil {
		return err
	}
	op.audit("checkpoint_cloned", "to", to)
	return op.done("done")
}

func newStateImport(t *target) *cobra.Command {
	return t.flags(&cobra.Command{
		Use:   "import <poller> <file>",
		Short: "Take over the position from a state document of azure-functions-db",
		Long: `Import reads a state document of azure-functions-db-python (the blob state/{app}/{poller}.json in its container), and creates the
state document of a poller that has none yet, at its position. Stop the old function first: its lease must be free or expired.
The kinds of cursor are the same; that its columns are those of the settings is checked against the table.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return t.imports(cmd.Context(), args[0], args[1]) },
	})
}

// foreign is as much of azure-functions-db's document as a position needs (seeds/001, §4).
type foreign struct {
	Version    int    `json:"version"`
	PollerName string `json:"poller_name"`
	Checkpoint struct {
		Cursor struct {
			Kind       string          `json:"kind"`
			Value      json.RawMessage `json:"value"`
			Tiebreaker json.RawMessage `json:"tiebreaker"`
		} `json:"cursor"`
		BatchID string `json:"last_successful_batch_id"`
	} `json:"checkpoint"`
	Lease struct {
		OwnerID   string    `json:"owner_id"`
		ExpiresAt time.Time `json:"expires_at"`
	} `json:"lease"`
}

func (t *target) imports(ctx context.Context, name, path string) error {
	a, w, out, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // the document is written or not by now
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var doc foreign
	if err := json.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("%s is no state document: %w", path, err)
	}
	if doc.Version != 1 || len(doc.Checkpoint.Cursor.Value) == 0 {
		return fmt.Errorf("%s is no state document of azure-functions-db with a position: it needs version 1 and checkpoint.cursor with kind, value and tiebreaker", path)
	}
	if doc.Lease.OwnerID != "" && doc.Lease.ExpiresAt.After(time.Now()) {
		return fmt.Errorf("%s: %s holds its lease until %s: stop that function first, or both deliver", path, doc.Lease.OwnerID, doc.Lease.ExpiresAt.UTC().Format(time.RFC3339))
	}
	cursor, err := doc.cursor()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	source, err := w.source.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing the source: %w", err)
	}
	_, incarnation, err := w.source.Start(ctx)
	if err != nil {
		return err
	}
	// What the table makes of the position shows whether it is one.
	left, err := w.source.Count(ctx, poller.Range{After: cursor})
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
		w.cfg.Name, orNone(doc.Checkpoint.BatchID), cursor, left, out.key); err != nil {
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
	snap, err := out.keeper.Create(ctx, source.Fingerprint, incarnation, cursor)
	if err != nil {
		return err
	}
	op := &operation{target: t, app: a, w: w, out: out, snap: snap}
	op.audit("checkpoint_imported", "to", cursor.String(), "file", path)
	return op.done("done")
}

// cursor writes the position in Rowrelay's form: the same members, without those that are empty.
func (f *foreign) cursor() (change.Cursor, error) {
	c := &f.Checkpoint.Cursor
	kind := c.Kind
	if !strings.HasSuffix(kind, "+pk") {
		return nil, fmt.Errorf("its cursor's kind is %q, which has no key: it cannot tell rows of one value apart; begin with source__start instead", kind)
	}
	parts := fmt.Appendf(nil, `{"kind":%q,"value":%s`, kind, c.Value)
	if len(c.Tiebreaker) > 0 && string(c.Tiebreaker) != "null" {
		parts = fmt.Appendf(parts, `,"tiebreaker":%s`, c.Tiebreaker)
	}
	return change.ParseCursor(append(parts, '}'))
}
