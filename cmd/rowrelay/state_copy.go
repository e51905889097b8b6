package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/change"
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
