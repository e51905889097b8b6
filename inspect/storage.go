package inspect

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/state"
)

// Store is what is found of the state store.
type Store struct {
	Name    string // for people
	Link    *Link  // nil: it is no service
	Opened  bool   // false where the settings have faults, or no poller has a document
	Missing bool   // the directory, or the container, is not there
	ListErr error  // why the documents cannot be listed; nil where a missing container is made when it is needed
	Copies  Copies

	Account      string // of a storage account; "" where the settings do not tell
	OneContainer bool   // it is reached by a signature that is for one container
}

// Copies are what the storage account keeps of documents that were overwritten.
type Copies struct {
	Days int32 // for which soft delete keeps them; 0: it is off
	Err  error // why that is not known

	Documents  int   // that were listed with their versions: one of these is enough
	Versions   bool  // one has a version
	VersionErr error // why they could not be listed
}

// ErrUnmade is the answer for what is not there, and is made when it is needed.
var ErrUnmade = errors.New("not there yet")

func newStore(s *config.State, opened bool) Store {
	return Store{
		Name: StoreName(s), Link: StateLink(s), Opened: opened, Account: azure.Account(&s.Connection),
		OneContainer: azure.OfOneContainer(&s.Connection),
	}
}

// StoreName is the state store for people.
func StoreName(s *config.State) string {
	switch s.Kind {
	case "blob":
		return "blob container " + s.Container + " of " + s.ConnectionSetting
	case "table", "sql":
		return "table " + s.Table + " of " + s.ConnectionSetting
	case "file":
		return "files below " + s.Path
	case "":
		return "none"
	default:
		return s.Kind
	}
}

// ask asks the state store without writing to it.
func (found *Store) ask(ctx context.Context, s *config.State, store state.Store) {
	switch {
	case store == nil:
	case s.Kind == "file":
		_, err := os.Stat(s.Path)
		found.Missing = err != nil
	case s.Kind == "table", s.Kind == "sql":
		_, found.ListErr = store.List(ctx, "state/"+s.AppName+"/")
	case s.Kind == "blob":
		prefix := "state/" + s.AppName + "/"
		if _, err := store.List(ctx, prefix); err != nil {
			found.ListErr = azure.Brief(err)
		}
		copies := &found.Copies
		copies.Days, copies.Err = azure.KeptFor(ctx, &s.Connection)
		copies.Documents, copies.Versions, copies.VersionErr = azure.Versions(ctx, &s.Connection, s.Container, prefix)
		// List has no error for one that the first write makes
		found.Missing = errors.Is(copies.VersionErr, azure.ErrNoContainer)
	}
}

// askQueues asks whether a poller's queues are there, and how many dead letters wait in theirs: nil where they go
// elsewhere. Queues of Azurite, and with create all, are made when they are needed.
func askQueues(ctx context.Context, p *config.Poller, create bool, queues map[string]error) (dead *int64, err error) {
	ask := func(s *config.Storage, name string) (messages *int64, err error) {
		messages, err = azure.Messages(ctx, s, name)
		queues[name+" of "+s.Setting] = err
		if errors.Is(err, azure.ErrNoQueue) && (create || s.Development) {
			queues[name+" of "+s.Setting] = ErrUnmade
			return new(int64), nil // and holds no message
		}
		return messages, err
	}
	for i := range p.Outputs {
		if out := &p.Outputs[i]; out.Kind == "queue" {
			_, _ = ask(&out.Connection, out.Queue) // kept in queues
		}
	}
	if d := &p.DeadLetter; d.Kind == "queue" {
		return ask(&d.Connection, d.Queue)
	}
	return nil, nil
}

// countLetters counts a poller's dead letters in the state store, those of all its outputs.
func countLetters(ctx context.Context, store state.Store, app, poller string) (n int, err error) {
	prefix := deadletter.Root + app + "/" + poller
	found, err := store.List(ctx, prefix)
	for _, key := range found {
		rest := strings.TrimPrefix(key, prefix)
		if strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".") { // not another poller's, whose name begins so
			n++
		}
	}
	return n, err
}
