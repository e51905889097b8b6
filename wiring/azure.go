//go:build !small

package wiring

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/output/bearer"
	"github.com/rowrelay/rowrelay/output/storagequeue"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/blobstore"
	"github.com/rowrelay/rowrelay/state/tablestore"
)

// openBlobs opens a state store of blobs. It does not connect yet.
func openBlobs(s *config.State) (state.Store, error) {
	client, err := azure.Container(&s.Connection, s.Container)
	if err != nil {
		return nil, err
	}
	return blobstore.New(blobstore.Config{Client: client, Create: s.Create || s.Connection.Development})
}

// openStorageTable opens a state store in a table of a storage account. It does not connect yet.
func openStorageTable(s *config.State) (state.Store, error) {
	client, err := azure.Table(&s.Connection, s.Table)
	if err != nil {
		return nil, err
	}
	return tablestore.New(tablestore.Config{Client: client, Table: s.Table, Create: s.Create || s.Connection.Development})
}

// openQueue returns an output that sends to a storage queue.
func (a *App) openQueue(at *config.Storage, name string, format change.Format, concurrency int) (poller.Output, error) {
	client, err := azure.Queue(at, name)
	if err != nil {
		return nil, err
	}
	return storagequeue.New(storagequeue.Config{
		Client: client, Format: format, Concurrency: concurrency, Create: at.Development || a.Config.State.Create,
	})
}

// openFanout returns what puts the message of a partition on the queue of an outbox.
func (a *App) openFanout(s *config.Source, period time.Duration) (func(context.Context, []byte) error, error) {
	client, err := azure.Queue(&s.Fanout, s.FanoutQueue)
	if err != nil {
		return nil, err
	}
	return host.NewFanout(client, period, s.Fanout.Development || a.Config.State.Create).Send, nil
}

// openEntra returns tokens of an identity of Azure.
func openEntra(out *config.Output) (bearer.Source, error) {
	identity, err := azure.Credential(out.Identity())
	if err != nil {
		return nil, err
	}
	return bearer.Entra(identity, out.AuthScope), nil
}
