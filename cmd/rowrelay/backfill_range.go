package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/state"
)

// backfillPrefix is what a named backfill's document, side objects and dead letters have before its name where an output's
// have the output's. No output can be called so.
const backfillPrefix = "backfill-"

// backfillNameOf is the name of the backfill that is meant by an --output; "" for an output.
func backfillNameOf(output string) string {
	name, ok := strings.CutPrefix(output, backfillPrefix)
	if !ok {
		return ""
	}
	return name
}

// namedRange is what a named backfill sends. It is written once, before the backfill's document, and stays: started again
// under its name, a backfill goes on with this range and no other. It lies at backfills/{app}/{poller}/{name}.json.
type namedRange struct {
	Version int `json:"version"` // 1
	// Output is the name of the poller's output that it sends to.
	Output string `json:"output"`
	// FromText and ToText are --from and --to, From and To the positions that they meant then.
	FromText  string        `json:"from_text"`
	ToText    string        `json:"to_text"`
	From      change.Cursor `json:"from"`
	To        change.Cursor `json:"to"`
	StartedAt time.Time     `json:"started_at"`
	By        string        `json:"by"`
}

const namedRangeVersion = 1

// rangePatience bounds a read or write of a namedRange.
const rangePatience = 30 * time.Second

func (a *app) rangeKey(w *wired, name string) string {
	return "backfills/" + a.cfg.State.AppName + "/" + w.cfg.Name + "/" + name + ".json"
}

// loadRange reads the range of a named backfill; state.ErrNotFound where none of this name was begun.
func (a *app) loadRange(ctx context.Context, w *wired, name string) (*namedRange, error) {
	ctx, cancel := context.WithTimeout(ctx, rangePatience)
	defer cancel()
	key := a.rangeKey(w, name)
	stored, err := a.store.Load(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	var r namedRange
	if err := json.Unmarshal(stored.Data, &r); err != nil {
		return nil, fmt.Errorf("reading %s: %w: begin under another --name", key, err)
	}
	if r.Version != namedRangeVersion {
		return nil, fmt.Errorf("reading %s: its version is %d, which this binary does not know: begin under another --name", key, r.Version)
	}
	return &r, nil
}

// storeRange writes the range of a backfill that begins. An error may leave it written: the next start finds it.
func (a *app) storeRange(ctx context.Context, w *wired, name string, r *namedRange) error {
	ctx, cancel := context.WithTimeout(ctx, rangePatience)
	defer cancel()
	key := a.rangeKey(w, name)
	data, err := json.Marshal(r)
	if err == nil {
		_, err = a.store.Create(ctx, key, append(data, '\n'))
	}
	if errors.Is(err, state.ErrConflict) {
		return fmt.Errorf("writing %s: a backfill of this name was begun meanwhile: start this one again, or under another --name", key)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	return nil
}

// resumes refuses another range, or another output, under the name of a backfill that was begun.
func (op *operation) resumes(ctx context.Context, b *backfill, r *namedRange) error {
	same := func(flag, text, stored string, at change.Cursor) (bool, error) {
		if text == "" || text == stored {
			return true, nil // what "latest" meant is what it means
		}
		cursor, err := op.edge(ctx, flag, text)
		return bytes.Equal(cursor, at) && text != "latest", err
	}
	from, err := same("--from", b.from, r.FromText, r.From)
	if err != nil {
		return err
	}
	to, err := same("--to", b.to, r.ToText, r.To)
	if err != nil {
		return err
	}
	if from && to && r.Output == op.output {
		return nil
	}
	return fmt.Errorf("the backfill %s was begun on %s by %s with --from %s --to %s for output %q (the rows after %s and up to %s): "+
		"without --from and --to it goes on; for another range give another --name",
		b.name, r.StartedAt.UTC().Format(time.RFC3339), r.By, r.FromText, r.ToText, r.Output, r.From, r.To)
}

// backfillOf finds the document of a named backfill, with the output that it sends to.
func (a *app) backfillOf(ctx context.Context, w *wired, name, owner string) (*wiredOutput, error) {
	if !backfillName.MatchString(name) {
		return nil, fmt.Errorf("%q is no name of a backfill: it is a lower-case name of letters, digits and _", name)
	}
	r, err := a.loadRange(ctx, w, name)
	if errors.Is(err, state.ErrNotFound) {
		return nil, fmt.Errorf("poller %s has no backfill %q (%s)", w.cfg.Name, name, a.rangeKey(w, name))
	}
	if err != nil {
		return nil, err
	}
	for _, out := range w.outputs {
		if out.cfg.Name == r.Output {
			return a.namedOutput(w, out.cfg, name, owner)
		}
	}
	return nil, fmt.Errorf("the backfill %s was for output %q, which the settings do not have any more", name, r.Output)
}

// namedOutput is an output with the document of a named backfill.
func (a *app) namedOutput(w *wired, out *config.Output, name, owner string) (*wiredOutput, error) {
	key := state.Key(a.cfg.State.AppName, w.cfg.Name, backfillPrefix+name)
	keeper, err := state.New(state.Config{
		Store: a.store, Key: key, Poller: w.cfg.Name, Owner: a.cfg.State.AppName + "/" + owner, TTL: w.cfg.LeaseTTL,
	})
	return &wiredOutput{cfg: out, key: key, keeper: keeper}, err
}
