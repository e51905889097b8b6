package wiring

import (
	"context"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// openDocuments makes the keepers of a poller's state documents. Those of a poller with faults can be read too.
func (a *App) openDocuments(w *Poller) {
	if a.Store == nil || !w.Config.Source.Mode.Can(mode.Document) {
		return
	}
	outputs := inspect.OutputsOf(w.Config)
	for i := range outputs {
		out, err := a.document(w.Config, &outputs[i], outputs[i].Name)
		if err != nil && len(w.Faults) == 0 { // else it may come of them
			w.Faults.Add("state__kind", err.Error(), "")
		}
		if err != nil {
			return
		}
		w.Outputs = append(w.Outputs, out)
	}
}

// document is an output with a state document: its own by its name, or that of a named backfill.
func (a *App) document(p *config.Poller, out *config.Output, name string) (inspect.WiredOutput, error) {
	key := state.Key(a.Config.State.AppName, p.Name, name)
	keeper, err := state.New(state.Config{
		Store: a.Store, Key: key, Poller: p.Name, Owner: a.Config.State.AppName + "/" + a.process.Instance(), TTL: p.LeaseTTL,
		Alive: alive.Default(),
	})
	shape, _ := a.shape(p, out) // its fault is told by checkShapes
	return inspect.WiredOutput{Config: out, Key: key, Keeper: keeper, Shape: shape, Ready: a.ready(p, out),
		Gone: func(ctx context.Context) error {
			return status.Gone(ctx, a.Store, status.NoteKey(a.Config.State.AppName, p.Name, name))
		}}, err
}

// openDeadLetters returns what takes a poller's dead letters. One that is too large for its queue is put into the state
// store.
func (a *App) openDeadLetters(w *Poller) (poller.DeadLetters, error) {
	store := deadletter.NewStore(a.Store)
	to := &w.Config.DeadLetter
	if to.Kind != "queue" {
		return store, nil
	}
	queue, err := a.openQueue(&to.Connection, to.Queue, change.Row, w.Config.Concurrency)
	if err != nil {
		return nil, err
	}
	return deadletter.NewQueue(queue, store), nil
}
