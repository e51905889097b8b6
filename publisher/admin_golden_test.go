package publisher

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/engine/statement/statementtest"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed"
)

func goldenTable(engine string) *catalog {
	e := textsOf[engine]
	return &catalog{
		cfg: Config{Config: feed.Config{Policy: poller.Policy{Block: true}, Ordering: poller.OrderKey},
			MaxRowBytes: 4 << 20, Retention: 720 * time.Hour},
		texts: e, db: statement.NewDB(e.syntax, e.low, nil, 0, nil, nil),
		outbox: statement.NewName(e.syntax, "shop", "outbox"), claims: statement.NewName(e.syntax, "shop", "rowrelay_claims"),
	}
}

var goldenChoice = event.Filter{
	States:        []event.State{event.Pending, event.Waiting, event.Failed, event.Published},
	IDs:           []string{"7", "0b5ab1a0-0000-4000-8000-000000000001", "0b5ab1a000004000"},
	Keys:          []string{"7", "0b5ab1a0-0000-4000-8000-000000000001", "0b5ab1a000004000"},
	AggregateType: "Order", Aggregate: "42", EventType: "OrderPlaced", OlderThan: time.Hour, YoungerThan: 1000 * time.Hour,
}

// TestGoldenAdmin pins what operators and the clean-up send to a table of `rowrelay outbox init`, and MappedDDL.
func TestGoldenAdmin(t *testing.T) {
	for _, engine := range []string{"postgres", "mysql", "sqlserver", "sqlite"} {
		table := goldenTable(engine)
		e := table.rows("shop.outbox")
		g := &statementtest.Script{T: t, Engine: engine}
		g.Add("list", e.PageStatement(&goldenChoice, 7, 1000))
		g.Add("list everything", e.PageStatement(&event.Filter{}, 7, 1000))
		g.Add("requeue", e.RequeueStatement([]int64{1, 2}))
		g.Add("discard", e.DiscardStatement([]int64{1, 2}, "by ann"))
		g.Add("clean-up looks", e.CleanLook(7, 4000))
		prefix := ""
		if engine == "sqlserver" {
			prefix = "SET DEADLOCK_PRIORITY LOW; "
		}
		g.Add("clean-up deletes", e.CleanDelete(prefix, 7, 4007))
		golden.Pin(t, filepath.Join(engine, "admin.sql"), g.String())

		ddl, err := MappedDDL(engine, "shop.outbox", "rowrelay_claims")
		if err != nil {
			t.Fatal(err)
		}
		d := &statementtest.Script{T: t, Engine: engine}
		for _, text := range ddl {
			d.WriteString(text + ";\n")
			d.Parse(text)
		}
		golden.Pin(t, filepath.Join(engine, "mapped_ddl.sql"), d.String())
	}
}
