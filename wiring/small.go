//go:build small

package wiring

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/output/bearer"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Program is what to type for this program in the clone: it is not meant for a PATH.
const Program = "./rowrelay-demo"

// The program of `make demo` leaves out brokers and Azure: their libraries take more than half of the time that
// compiling takes.

func (*App) openBroker(*config.Poller, *config.Output, change.Format) (brokerOutput, error) {
	return nil, change.ErrSmall
}

func openBlobs(*config.State) (state.Store, error) { return nil, change.ErrSmall }

func openStorageTable(*config.State) (state.Store, error) { return nil, change.ErrSmall }

func (*App) openQueue(*config.Storage, string, change.Format, int) (poller.Output, error) {
	return nil, change.ErrSmall
}

func (*App) openFanout(*config.Source, time.Duration) (func(context.Context, []byte) error, error) {
	return nil, change.ErrSmall
}

func openEntra(*config.Output) (bearer.Source, error) { return nil, change.ErrSmall }
