package inspect

import "context"

// For tests, one question at a time.

func (a *App) AskStore(ctx context.Context) { a.Store.ask(ctx, &a.Config.State, a.store) }
func (p *Poller) AskQueues(ctx context.Context) {
	p.Letters.Queued, p.Letters.QueuedErr = askQueues(ctx, p.Config, p.app.Config.State.Create, p.Queues)
}
