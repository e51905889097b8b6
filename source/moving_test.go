package source

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// TestMovedBy: names of columns that updates move are known by their words, and not by what stands within another word.
func TestMovedBy(t *testing.T) {
	for name, want := range map[string]bool{
		"updated_at": true, "UpdatedAt": true, "LAST_CHANGE": true, "dateModified": true, "datemodified": true, "ROW_VERSION": true,
		"lastmod": true, "mtime": true, "isEdited": true, "RowIDUpdated": true, "touched": true, "rev": true, "etag": true,
		"exchange": false, "exchange_rate": false, "blast": false, "credit": false, "creditedAt": false, "plastic_id": false, "created_at": false, "seq": false, "revenue": false,
	} {
		if got := movedBy(&column{name: name}); (got != "") != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestPlausible: a transaction that began after now shows that a clock was put back.
func TestPlausible(t *testing.T) {
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
	if age, err := mysqlAge("2026-10-25 02:00:10.000000", "2026-10-25 02:59:50"); err != nil || age >= 0 {
		t.Errorf("a clock that was put back: %v %v", age, err)
	}
}

// TestOtherTables: exact says what it cannot see where another table is read.
func TestOtherTables(t *testing.T) {
	d := postgres{}
	for _, c := range []struct {
		cfg  Config
		want bool
	}{
		{Config{Table: "orders", Where: "id > 3 AND note <> 'selected'"}, false},
		{Config{Table: "orders", Where: "EXISTS (Select 1 FROM customers c WHERE c.id = r.id)"}, true},
		{Config{Query: "SELECT * FROM a JOIN b USING (id)", LateCommits: "exact"}, true},
	} {
		c.cfg.Cursor, c.cfg.Key = []string{"xid"}, []string{"id"}
		if err := c.cfg.complete(); err != nil {
			t.Fatal(err)
		}
		p, err := newPlan(d, &c.cfg, "h/d", lateTable(d))
		if err != nil {
			t.Fatal(err)
		}
		said := false
		for _, w := range p.warnings {
			said = said || len(w) > 40 && w[:40] == "exact covers the table that the cursor i"
		}
		if p.late.mode != late.Exact || said != c.want {
			t.Errorf("%+v: %v", c.cfg, p.warnings)
		}
	}
}

// TestSnapshotsFitADocument: eight snapshots of the largest size leave room in a document.
func TestSnapshotsFitADocument(t *testing.T) {
	s := snapshot{xmin: 1 << 63, xmax: 1<<64 - 1}
	for i := range uint64(5000) {
		s.xip = append(s.xip, 1<<63+i)
	}
	if n := 8 * len(s.atMost(maxOpen).String()); n > 56<<10 {
		t.Errorf("eight snapshots take %d bytes", n)
	}
}

// TestSQLServerPeriod: the times of a temporal table's period are set by every update, whatever they are called.
func TestSQLServerPeriod(t *testing.T) {
	row := func(name string, generated bool) []driver.Value {
		return []driver.Value{name, "datetime2", int64(8), int64(27), int64(7), "", false, false, false, false, generated}
	}
	db := sql.OpenDB(told{"columns": {row("valid_from", true), row("placed", false)}})
	defer db.Close() //nolint:errcheck // a fake
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a fake
	of := table{name: "o", primaryKey: []string{"placed"}}
	if err := (sqlServer{}).columns(t.Context(), conn, "columns", "o", &of); err != nil {
		t.Fatal(err)
	}
	for cursor, refused := range map[string]bool{"valid_from": true, "placed": false} {
		cfg := Config{Table: "o", Cursor: []string{cursor}, LateCommits: "settle"}
		if err := cfg.complete(); err != nil {
			t.Fatal(err)
		}
		_, err := newPlan(sqlServer{}, &cfg, "h/d", of)
		if errors.Is(err, poller.ErrConfig) != refused || refused && !strings.Contains(err.Error(), "period of a temporal table") {
			t.Errorf("%s: %v", cursor, err)
		}
	}
}
