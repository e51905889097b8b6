package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Check asks the database and the state documents all that a tick would use, and moves nothing. It reads the first rows
// that would be sent: so many of an outbox, and of any other source at least one, to see that they can be read.
func (p *Poller) Check(ctx context.Context, rows int) {
	switch {
	case !p.Runs(): // what is at fault is told with the settings
		p.Broken = "the poller has a fault: see settings"
	case p.wired.Outbox != nil:
		p.checkOutbox(ctx, rows)
	case p.wired.Leases != nil:
		p.checkLeases(ctx)
	default:
		p.checkTable(ctx, rows)
	}
}

func (p *Poller) checkTable(ctx context.Context, rows int) {
	if store, is := p.app.store.(interface{ Writable(context.Context) error }); is {
		p.fault(store.Writable(ctx))
	}
	for _, out := range p.Outputs {
		position, err := p.position(ctx, out)
		p.fault(err)
		var unread *startError
		told := errors.As(err, &unread) // the source's own fault, which it would repeat
		found, err := p.wired.Source.Check(ctx, position, rows, p.Config.BatchSize)
		if !told {
			p.fault(poller.NameDocument(errors.Join(err, found.ReadError), out.address)) // at most one of them
			p.fault(found.Refused)
		}
		if err != nil {
			continue
		}
		if p.Table.Late == nil { // the outputs share the source
			p.Table.Check = found
			p.Warnings = append(p.Warnings, found.Warnings...)
			if found.NullCursors > 0 {
				p.Warnings = append(p.Warnings,
					fmt.Sprintf("%d rows have a NULL cursor and are not delivered until they have one", found.NullCursors))
			}
			p.Table.Late, err = lateOf(ctx, p.wired.Source, &found, &p.Config.Source)
			p.fault(err)
		}
		if found.Ahead != "" { // it is about this output's position
			p.Warnings = append(p.Warnings, poller.NameDocument(errors.New(found.Ahead), out.address).Error())
		}
		p.render(out, &found)
		if out.ready != nil {
			p.fault(out.ready(ctx, &found))
		}
	}
}

// audit asks what production needs beside a check.
func (p *Poller) audit(ctx context.Context) {
	if !p.Runs() {
		return
	}
	p.Rights, p.RightsErr = engine.AskRights(ctx, p.wired.Connection, p.Config.Source.Table, p.Config.Source.Timeout)
	p.Queues = map[string]error{}
	p.Letters.Queued, p.Letters.QueuedErr = askQueues(ctx, p.Config, p.app.Config.State.Create, p.Queues)
	if p.wired.Outbox != nil {
		if p.Outbox == nil {
			p.Broken = "the outbox has a fault: see settings"
		}
		return
	}
	var err error
	if p.Cursor, err = p.wired.Source.CursorColumns(ctx); err != nil {
		p.Broken = "the source has a fault: see settings"
	}
	if p.app.store != nil {
		p.Letters.Stored, p.Letters.StoredErr = countLetters(ctx, p.app.store, p.app.Config.State.AppName, p.Config.Name)
	}
}

// askedAtOnce is how many pollers are looked at at the same time: one whose server is silent does not hold up the
// others.
const askedAtOnce = 4

// Check is that of each poller.
func (a *App) Check(ctx context.Context, rows int) { a.each(func(p *Poller) { p.Check(ctx, rows) }) }

// Audit asks all services all that the production checklist needs.
func (a *App) Audit(ctx context.Context) {
	a.Store.ask(ctx, &a.Config.State, a.store)
	a.each(func(p *Poller) {
		p.Check(ctx, 0)
		p.audit(ctx)
	})
}

// each asks about the pollers, a few at a time.
func (a *App) each(ask func(*Poller)) {
	var asked sync.WaitGroup
	slots := make(chan struct{}, askedAtOnce)
	for _, p := range a.Pollers {
		slots <- struct{}{}
		asked.Go(func() {
			ask(p)
			<-slots
		})
	}
	asked.Wait()
}
