package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/snapshot"
	"github.com/rowrelay/rowrelay/source/tracked"
)

// Cursor is a table or query that is read in the order of a cursor: cursor mode. It implements checkpointed.Source, and
// is safe for concurrent use (the outputs of one poller share it).
type Cursor struct {
	cfg     plan.Config
	dialect engine.Dialect
	// identity is the connection's own, for the fingerprint.
	identity string
	// warnings are the connection's.
	warnings []string

	sessions *pool.Share
	owned    *pool.Pool // nil: it is shared
	settling settling
	idling   snapshot.Idling

	mu sync.Mutex
	// lateSaid says that the operator was told what may be missed.
	lateSaid bool
	plan     *plan.Plan
	planned  time.Time
	told     *plan.Plan // the one whose warnings Describe has told
	// tableSeen is the table's identity as the catalog showed it last, where the catalog has to be asked for it.
	tableSeen string
	// writers is what pages have shown of the server's transactions.
	writers shownWriters
	// What the last looks for rows that paging cannot show found (probe.go).
	nulls, strays, ahead finding
	// places are positions that were found sound (gap.go).
	places places
	// rows is how many rows the next statement asks for when the last page was full of bytes before it was full of rows:
	// what is asked for beyond the limit is read from the network and thrown away. 0: as many as the limit allows.
	rows int
}

var _ checkpointed.Source = (*Cursor)(nil)

// New returns the source of a poller, with a pool of its own that Close ends. It checks what can be checked without the
// database, and does not connect.
func New(cfg plan.Config, conn engine.Connection) (*Cursor, error) {
	if conn.Dialect == nil {
		return nil, fmt.Errorf("%w: there is no connection", poller.ErrConfig)
	}
	if err := cfg.Complete(); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	own := pool.New(conn, cfg.Connections)
	c := newCursor(cfg, own)
	c.owned = own
	return c, nil
}

// Sharing is New for a source that shares a pool with others. The pool is the caller's to close.
func Sharing(p *pool.Pool, cfg plan.Config) (*Cursor, error) {
	if err := cfg.Complete(); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	return newCursor(cfg, p), nil
}

func newCursor(cfg plan.Config, p *pool.Pool) *Cursor {
	conn := &p.Connection
	c := &Cursor{cfg: cfg, dialect: conn.Dialect, identity: conn.Identity, warnings: conn.Warnings,
		idling: snapshot.Idling{Every: snapshot.IdleEvery}, places: places{}}
	// A plan knows whether reads wait for locks.
	c.sessions = p.Share(c.name(), cfg.Connections, cfg.Timeout, c.replan)
	return c
}

// Close closes every connection of a pool of the source's own.
func (c *Cursor) Close() error {
	if c.owned == nil {
		return nil
	}
	return c.owned.Close()
}

// planAge is how long a plan is used before the catalog is read again: a new column appears after at most so long.
const planAge = 5 * time.Minute

// Describe connects where needed, proves the settings against the catalog, and says what the source is. What it learned
// is used for five minutes, or until a statement fails because the schema changed; meanwhile it costs no round trip and
// repeats no warnings.
func (c *Cursor) Describe(ctx context.Context) (checkpointed.Description, error) {
	p, err := c.current(ctx)
	if err != nil {
		return checkpointed.Description{}, err
	}
	d := checkpointed.Description{Fingerprint: p.Fingerprint, Engine: p.Syntax.Name, Table: p.Table.Name,
		Late: p.Late.Mode, Coarse: p.Coarse, Ranges: p.Tracked == nil, Ordered: p.Late.Ordered, Refused: p.Late.Refused,
		Shape: p.Shape, Columns: p.Kinds(), Dates: p.Dates(&c.cfg)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told != p {
		c.told, d.Warnings = p, p.Warnings
	}
	return d, nil
}

// current returns the plan, reading the catalog where there is none that is fresh.
func (c *Cursor) current(ctx context.Context) (p *plan.Plan, err error) {
	c.mu.Lock()
	p, age := c.plan, time.Since(c.planned)
	c.mu.Unlock()
	if p != nil && age < planAge {
		return p, nil
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		p, err = c.makePlan(ctx, s)
		return err
	})
	if err != nil {
		return nil, err // it names the engine and the table; the cause comes first
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan, c.planned, c.tableSeen = p, time.Now(), p.Table.Identity
	return p, nil
}

// makePlan reads the catalog.
func (c *Cursor) makePlan(ctx context.Context, s *pool.Session) (*plan.Plan, error) {
	t, err := c.catalog(ctx, s)
	if err != nil {
		return nil, err
	}
	t.Warnings = slices.Concat(c.warnings, t.Warnings, s.Server.Warnings)
	t.ReadOnly, t.Locking = s.Server.ReadOnly, s.Server.Locking
	p, err := plan.New(c.dialect, &c.cfg, c.identity, t)
	if err != nil {
		return nil, err
	}
	c.warnLate(ctx, s, p)
	return p, nil
}

func (c *Cursor) catalog(ctx context.Context, s *pool.Session) (engine.Table, error) {
	if c.cfg.Query != "" {
		// Checked before it is sent: what a second statement in it does is not undone by a later complaint.
		if f := c.dialect.Syntax().Text.Query(c.cfg.Query); f != nil {
			return engine.Table{}, fmt.Errorf("%w: source__query %s: %s", poller.ErrConfig, f.Problem, f.Remedy)
		}
		t, err := c.dialect.Query(ctx, s.Conn, c.cfg.Query)
		if err != nil {
			return engine.Table{}, fmt.Errorf("describe source__query: %w", err)
		}
		t.Name = "query"
		return t, nil
	}
	parts, err := engine.SplitName(c.cfg.Table)
	if err != nil {
		return engine.Table{}, fmt.Errorf("%w: source__table %q: %w", poller.ErrConfig, c.cfg.Table, err)
	}
	t, err := c.dialect.Table(ctx, s.Conn, parts)
	if errors.Is(err, engine.ErrNoTable) {
		return engine.Table{}, fmt.Errorf("%w: source__table %q: the database has no such table or view, or its user may not see it: "+
			"correct the name (schema.table), or grant SELECT on it", poller.ErrConfig, c.cfg.Table)
	}
	if err != nil {
		return engine.Table{}, fmt.Errorf("read the catalog for %s: %w", c.cfg.Table, err)
	}
	if c.cfg.Tracked {
		return tracked.Catalog(ctx, s.Conn, &s.Server, c.dialect, &c.cfg, t)
	}
	return t, nil
}

// replan makes the next use read the catalog again.
func (c *Cursor) replan() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan = nil
}

// forget is replan, unless there is another plan already.
func (c *Cursor) forget(p *plan.Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan == p {
		c.plan = nil
	}
}

// Start returns the position of a poller without a document: the beginning (earliest); the largest (cursor, key) there
// is now (latest), which is the beginning when the table is empty; or, for a cursor value, the position after every row
// whose cursor is not above it; and the incarnation of the database that the position was found in.
func (c *Cursor) Start(ctx context.Context) (start change.Cursor, incarnation string, err error) {
	p, err := c.current(ctx)
	if err != nil {
		return nil, "", err
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		how := c.strategy(p)
		find := how.start
		if p.Tracked != nil && c.cfg.Start == "snapshot" {
			find = how.latest // a snapshot's rows are read beside the changes from now on: see Snapshot
		}
		if start, err = find(ctx, s); err != nil {
			return err
		}
		// The catalog does not show that source__where can be run, and a document that was made for one that cannot would
		// hold its fingerprint: a corrected condition would then look like another source.
		if err := how.prove(ctx, s, start); err != nil {
			return err
		}
		err = c.dialect.Refresh(ctx, s.Conn, &s.Server)
		incarnation = s.Server.Incarnation
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("find the start: %w", err)
	}
	return start, incarnation, nil
}

// BeforeLatest returns the position of a row that at least so many rows come after, or the beginning where there are
// fewer. It is for source__start=latest only: asked says whether that was set.
func (c *Cursor) BeforeLatest(ctx context.Context, rows int) (low change.Cursor, asked bool, err error) {
	if c.cfg.Start != "latest" {
		return nil, false, nil
	}
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		return c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			low = nil
			n := 0
			return c.dialect.Read(ctx, s.Conn, p.Sel.Newest(rows+1).Text, nil, p.Sel.Order, func(r engine.Row) (bool, error) {
				if n++; n <= rows {
					return true, nil
				}
				low, err = collect.CursorOf(p, r)
				return false, err
			})
		})
	})
	if err != nil {
		return nil, true, fmt.Errorf("find the rows before the latest: %w", err)
	}
	return low, true, nil
}

// name is the source for messages.
func (c *Cursor) name() string {
	if c.cfg.Query != "" {
		return c.dialect.Syntax().Name + " query"
	}
	return c.dialect.Syntax().Name + " " + c.cfg.Table
}
