package inspect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Proposal is how a table may be watched, by what its catalog says.
type Proposal struct {
	Table string
	// Mode is Cursor, or ChangeTracking where no column can be a cursor. Cursor is then "".
	Mode              mode.Mode
	Cursor, CursorWhy string
	// Key is what identifies a row; Default says that it is the primary key, which needs no setting.
	Key     []string
	KeyWhy  string
	Default bool
}

// Propose looks at the catalog, within timeout, and changes nothing.
func Propose(ctx context.Context, conn engine.Connection, table string, timeout time.Duration) (*Proposal, error) {
	parts, err := engine.SplitName(table)
	if err != nil {
		return nil, fmt.Errorf("%w: the table %q: %w", change.ErrConfig, table, err)
	}
	var t engine.Table
	err = inCatalog(ctx, conn, timeout, func(ctx context.Context, c *sql.Conn) (err error) {
		t, err = conn.Dialect.Table(ctx, c, parts)
		if errors.Is(err, engine.ErrNoTable) {
			return fmt.Errorf("the database has no table %q, or its user may not see it", table)
		}
		if err != nil {
			return fmt.Errorf("read the catalog: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p := &Proposal{Table: t.Name, Mode: mode.Cursor}
	p.chooseKey(&t)
	p.chooseCursor(&t)
	return p, nil
}

// inCatalog runs work on a connection of its own, within timeout.
func inCatalog(ctx context.Context, conn engine.Connection, timeout time.Duration,
	work func(context.Context, *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	db := conn.ReadDB(1)
	defer db.Close() //nolint:errcheck // nothing was written
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.Close() //nolint:errcheck // the same
	if _, err := conn.Dialect.Prepare(ctx, c, engine.Settings{Timeout: timeout}); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return work(ctx, c)
}

func (p *Proposal) chooseKey(t *engine.Table) {
	if len(t.PrimaryKey) > 0 {
		p.Key, p.KeyWhy, p.Default = t.PrimaryKey, "the primary key", true
		return
	}
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if !ix.Unique || ix.Partial || ix.Declared == 0 || ix.Declared > len(ix.Columns) {
			continue
		}
		names := ix.Columns[:ix.Declared]
		if !slices.ContainsFunc(t.Columns, func(c engine.Column) bool {
			return c.Nullable && slices.Contains(names, c.Name)
		}) {
			p.Key, p.KeyWhy = names, "the unique index "+ix.Name
			return
		}
	}
	p.KeyWhy = "nothing proves that rows are unique: name the columns yourself (--key)"
}

// ways are the reasons to choose a column, the best first: what sees updates before what sees new rows only.
var ways = []func(t *engine.Table, c *engine.Column) string{
	func(_ *engine.Table, c *engine.Column) string {
		if c.Value.Kind == engine.KindRowVersion || c.Value.Transaction {
			return plan.MovedBy(c)
		}
		return ""
	},
	func(_ *engine.Table, c *engine.Column) string {
		if isMoment(c) && !c.Nullable {
			return plan.MovedBy(c)
		}
		return ""
	},
	func(_ *engine.Table, c *engine.Column) string {
		if why := plan.MovedBy(c); isMoment(c) && why != "" {
			return why + "; rows where it is NULL are not delivered"
		}
		return ""
	},
	func(t *engine.Table, c *engine.Column) string {
		if c.Value.Kind == engine.KindInteger && slices.Equal(t.PrimaryKey, []string{c.Name}) {
			return "is the key: new rows are seen, updates and deletes are not (--mode changetracking sees them)"
		}
		return ""
	},
	func(_ *engine.Table, c *engine.Column) string {
		if isMoment(c) && !c.Nullable {
			return "is a time: rows are seen as it grows, and nothing shows that updates move it (--mode changetracking sees them)"
		}
		return ""
	},
}

func isMoment(c *engine.Column) bool { return c.Value.Kind.IsTime() && c.Value.Kind != engine.KindDate }

func (p *Proposal) chooseCursor(t *engine.Table) {
	for _, way := range ways {
		for i := range t.Columns {
			c := &t.Columns[i]
			if c.Value.Refused != "" || c.Value.NoCursor != "" {
				continue
			}
			if why := way(t, c); why != "" {
				p.Cursor, p.CursorWhy = c.Name, why
				return
			}
		}
	}
	p.Mode, p.CursorWhy = mode.ChangeTracking, "no column grows with each change"
}
