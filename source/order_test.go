package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestOrderOfSharedKeys: the overlap mode keeps the order of an order key that rows share, or is refused, whoever chose
// it.
func TestOrderOfSharedKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine, cursor, orderKey, mode string
		ordered, refused               bool
	}{
		{dsn.SQLite, "updated_at", "seq", "overlap", true, false}, {dsn.SQLite, "updated_at", "seq", "auto", true, false},
		{dsn.Postgres, "updated_at", "seq", "auto", true, false}, {dsn.MySQL, "id", "seq", "auto", true, false},
		{dsn.Postgres, "updated_at", "", "auto", false, false}, {dsn.Postgres, "updated_at", "id", "auto", false, false},
		{dsn.Postgres, "xid", "seq", "auto", false, false}, {dsn.MySQL, "id", "seq", "settle", false, false},
		{dsn.MySQL, "id", "seq", "none", false, false}, {dsn.SQLServer, "rv", "seq", "auto", false, false},
		{dsn.SQLServer, "updated_at", "seq", "auto", false, true}, {dsn.SQLServer, "updated_at", "", "overlap", false, false},
		{dsn.SQLServer, "updated_at", "seq", "overlap", false, true},
	} {
		d, err := engines.Find(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		cfg := plan.Config{Table: "orders", Cursor: []string{c.cursor}, Key: []string{"id"}, LateCommits: c.mode}
		if c.orderKey != "" {
			cfg.OrderKey = []string{c.orderKey}
		}
		if err := cfg.Complete(); err != nil {
			t.Fatal(err)
		}
		p, err := plan.New(d, &cfg, "h/d", lateTable(d))
		if err != nil {
			t.Fatal(err)
		}
		if refused := p.Late.Refused; p.Late.Ordered != c.ordered || errors.Is(refused, poller.ErrConfig) != c.refused ||
			refused != nil && !strings.Contains(refused.Error(), "or settle") {
			t.Errorf("%+v: ordered %v, refused: %v", c, p.Late.Ordered, refused)
		}
	}
}
