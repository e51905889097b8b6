// Package boardtest makes boards for tests that know no configuration.
package boardtest

import (
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/status"
)

// Board is what `rowrelay status`, /status.json and /metrics are made of, for one poller called orders, with one output.
func Board(m mode.Mode, w inspect.Wired, perWorker int) *status.Board {
	w.Config = &config.Poller{Name: "orders", Source: config.Source{Mode: m}, Outputs: make([]config.Output, 1)}
	app := inspect.New(inspect.Wiring{Config: &config.App{MaxChangesPerWorker: perWorker}, Pollers: []inspect.Wired{w}})
	return status.BoardOf(app, status.BoardConfig{}, func(string) bool { return false })
}
