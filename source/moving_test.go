package source

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestPlausible: a transaction that began after now shows that a clock was put back.
func TestPlausible(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 25, 1, 0, 10, 0, time.UTC)
	for _, c := range []struct {
		oldest, want time.Time
		shown        bool
	}{
		{oldest: now.Add(-time.Hour), want: now.Add(-time.Hour), shown: true}, {shown: true},
		{oldest: now.Add(time.Millisecond), want: now, shown: true}, {oldest: now.Add(59 * time.Minute)},
	} {
		h := plausible(change.Horizon{Now: now, Oldest: c.oldest, Shown: true, By: "x"})
		if h.Shown != c.shown || !h.Oldest.Equal(c.want) || (h.By == "") != !c.shown {
			t.Errorf("%v: %+v", c.oldest, h)
		}
	}
}

// TestOtherTables: exact says what it cannot see where another table is read.
func TestOtherTables(t *testing.T) {
	t.Parallel()
	d := postgres.Dialect{}
	for _, c := range []struct {
		cfg  plan.Config
		want bool
	}{
		{plan.Config{Table: "orders", Where: "id > 3 AND note <> 'selected'"}, false},
		{plan.Config{Table: "orders", Where: "EXISTS (Select 1 FROM customers c WHERE c.id = r.id)"}, true},
		{plan.Config{Query: "SELECT * FROM a JOIN b USING (id)", LateCommits: "exact"}, true},
	} {
		c.cfg.Cursor, c.cfg.Key = []string{"xid"}, []string{"id"}
		if err := c.cfg.Complete(); err != nil {
			t.Fatal(err)
		}
		p, err := plan.New(d, &c.cfg, "h/d", lateTable(d))
		if err != nil {
			t.Fatal(err)
		}
		said := false
		for _, w := range p.Warnings {
			said = said || len(w) > 40 && w[:40] == "exact covers the table that the cursor i"
		}
		if p.Late.Mode != late.Exact || said != c.want {
			t.Errorf("%+v: %v", c.cfg, p.Warnings)
		}
	}
}

// TestSQLServerPeriod: the times of a temporal table's period are set by every update, whatever they are called.
func TestSQLServerPeriod(t *testing.T) {
	t.Parallel()
	d := sqlserver.Dialect{}
	of := engine.Table{Name: "o", PrimaryKey: []string{"placed"}}
	for name, moving := range map[string]bool{"valid_from": true, "placed": false} {
		col := sqlServerColumn(name, false, sqlserver.Type{Base: "datetime2", Scale: 7})
		col.Moving = moving
		of.Columns = append(of.Columns, col)
	}
	for cursor, refused := range map[string]bool{"valid_from": true, "placed": false} {
		cfg := plan.Config{Table: "o", Cursor: []string{cursor}, LateCommits: "settle"}
		if err := cfg.Complete(); err != nil {
			t.Fatal(err)
		}
		_, err := plan.New(d, &cfg, "h/d", of)
		if errors.Is(err, poller.ErrConfig) != refused ||
			refused && !strings.Contains(err.Error(), "period of a temporal table") {
			t.Errorf("%s: %v", cursor, err)
		}
	}
}
