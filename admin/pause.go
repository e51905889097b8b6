package admin

import (
	"context"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// amendBound is how long pause and resume try to write: a person waits, who sooner makes room on a full disk when told.
const amendBound = 15 * time.Second

// Pause stops the poller at its next batch, until Resume. It works at any time, also under a lease.
func (d *Document) Pause(ctx context.Context) (*Plan, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	if p := d.snap.Doc.Paused; p != nil && !isForReplay(p) {
		return nil, nothing("%s has been paused since %s by %s", d.address(), p.At.UTC().Format(time.RFC3339), p.By)
	}
	p := d.plan("%s will stop before its next batch.", d.address())
	p.apply = func(ctx context.Context, r *Result) error {
		ctx, cancel := context.WithTimeout(ctx, amendBound)
		defer cancel()
		after, err := d.Keeper.Amend(ctx, func(doc *state.Document) error {
			if doc.Paused == nil || isForReplay(doc.Paused) { // whose end would end this one too
				doc.Paused = &state.Paused{At: time.Now(), By: d.By}
			}
			return nil
		})
		if err != nil {
			return err
		}
		d.audit("paused")
		r.say("paused")
		if held := after.Held(); held != nil {
			r.say("paused; %v, and gives it back after the batch that is under way", held)
		}
		return nil
	}
	return &p, nil
}

// Resume lets a paused poller go on.
func (d *Document) Resume(ctx context.Context) (*Plan, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	if d.snap.Doc.Paused == nil {
		return nil, nothing("%s is not paused", d.address())
	}
	p := d.plan("%s will go on with its next tick.", d.address())
	if by := d.snap.Doc.Paused; by.Moved() {
		p.note("it was paused by %s: where it goes on there, every row would be delivered twice", by.By)
	}
	p.apply = func(ctx context.Context, r *Result) error {
		ctx, cancel := context.WithTimeout(ctx, amendBound)
		defer cancel()
		_, err := d.Keeper.Amend(ctx, func(doc *state.Document) error { doc.Paused = nil; return nil })
		if err != nil {
			return err
		}
		d.audit("resumed")
		r.say("resumed")
		return nil
	}
	return &p, nil
}

// forReplay ends the name in a pause that lasts only as long as a replay.
const forReplay = ", for a replay"

// isForReplay reports whether a pause is a replay's. A person's takes its place, and outlasts it.
func isForReplay(p *state.Paused) bool { return strings.HasSuffix(p.By, forReplay) }
