package inspect

import "context"

// For tests, one question at a time.

func (a *App) AskStore(ctx context.Context)     { a.askStore(ctx) }
func (p *Poller) AskQueues(ctx context.Context) { p.askQueues(ctx) }
