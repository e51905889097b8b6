package inspect

import (
	"testing"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
)

// TestRoute: engine and kind with their hosts, and nothing else of a URL or a connection string.
func TestRoute(t *testing.T) {
	for _, c := range []struct {
		conn engine.Connection
		out  config.Output
		want string
	}{
		{engine.Connection{Engine: "postgres", Identity: "db1:5432/shop"},
			config.Output{Kind: "http", URL: "https://user:secret@orders.example.com/hook?code=secret"},
			"postgres db1:5432 to http orders.example.com"},
		{engine.Connection{Engine: "sqlite", Identity: "/home/ada/shop.db"}, config.Output{Kind: "stdout"},
			"sqlite to stdout"},
	} {
		cfg := &config.Poller{Name: "orders", Outputs: []config.Output{c.out}}
		p := &Poller{Config: cfg, Engine: c.conn.Engine, Links: LinksOf(cfg, c.conn)}
		if from, to := p.Route(&c.out); from+" to "+to != c.want {
			t.Errorf("%s to %s, want %s", from, to, c.want)
		}
	}
}
