package main

import (
	"context"
	"errors"
	"os"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/production"
)

// askQueues asks whether the queues are there. Those of Azurite and with state__create are made when they are needed.
func (p *gatheredPoller) askQueues(ctx context.Context, create bool) {
	p.found.Queues = map[string]error{}
	ask := func(s *config.Storage, name string) (messages *int64, err error) {
		messages, err = azure.Messages(ctx, s, name)
		if errors.Is(err, azure.ErrNoQueue) && (create || s.Development) {
			messages, err = new(int64), nil // and holds no message
			p.found.Queues[name+" of "+s.Setting] = production.ErrUnmade
			return messages, err
		}
		p.found.Queues[name+" of "+s.Setting] = err
		return messages, err
	}
	for i := range p.w.cfg.Outputs {
		if out := &p.w.cfg.Outputs[i]; out.Kind == "queue" {
			_, _ = ask(&out.Connection, out.Queue) // kept in Queues
		}
	}
	if d := &p.w.cfg.DeadLetter; d.Kind == "queue" {
		p.found.Letters.Queued, p.found.Letters.QueuedErr = ask(&d.Connection, d.Queue)
	}
}

// askStore asks the state store without writing to it.
func (g *gathering) askStore(ctx context.Context) {
	if g.app.store == nil {
		return
	}
	s, store := &g.app.cfg.State, &g.facts.Store
	if s.Kind == "file" {
		_, err := os.Stat(s.Path)
		store.Missing = err != nil
		return
	}
	if s.Kind != "blob" {
		return
	}
	prefix := "state/" + s.AppName + "/"
	if _, err := g.app.store.List(ctx, prefix); err != nil {
		store.ListErr = azure.Brief(err)
	}
	copies := &store.Copies
	copies.Days, copies.Err = azure.KeptFor(ctx, &s.Connection)
	copies.Documents, copies.Versions, copies.VersionErr = azure.Versions(ctx, &s.Connection, s.Container, prefix)
	store.Missing = errors.Is(copies.VersionErr, azure.ErrNoContainer) // List has no error for one that the first write makes
}
