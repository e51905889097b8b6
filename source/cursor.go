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
	nulls, strays, ahead, leads finding
	// places are positions that were found sound (gap.go).
	places places
	// rows is how many rows the next statement asks for when the last page was full of bytes before it was full of rows:
	// what is asked for beyond the limit is read from the network and thrown away. 0: as many as the limit allows.
	rows int
	// reach is how many rows of the table the next page goes through, where source__where chooses some (sparse.go).
	reach int
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
	// A row that is hidden would be told as deleted. A plan knows whether reads wait for locks.
	c.sessions = p.Share(c.name(), cfg.Connections, engine.Settings{Timeout: cfg.Timeout, Whole: cfg.Tracked}, c.replan)
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
		Shape: p.Shape, Columns: p.Kinds(), Collations: p.Collations(), Dates: p.Dates(&c.cfg)}
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

// name is the source for messages.
func (c *Cursor) name() string {
	if c.cfg.Query != "" {
		return c.dialect.Syntax().Name + " query"
	}
	return c.dialect.Syntax().Name + " " + c.cfg.Table
}

// settling holds rows back until they are older than source__late_window. A single cursor that is a time is compared
// with the database's clock in the statement. Any other has no age: then marks say how old it is.
type settling struct {
	mu sync.Mutex
	// marks are what the highest cursor was, and when, oldest first: every row up to a mark that is older than the window
	// has settled. They live in memory: after a start nothing is shown for a window.
	marks []mark
}

// shownWriters is what a page has shown of the server's transactions: it holds for every page that is read after it
// from the same history.
type shownWriters struct {
	numbers string
	engine.Writers
}

// places remembers when positions were last known to be sound: rows came up to there, or a look found them so.
type places map[string]place

// finding is what the last look found.
type finding struct {
	at time.Time
	// verdict fails every fetch, of every output, until another look finds the rows gone. While there is one, every fetch
	// looks again: nothing is delivered meanwhile, and what was mended is seen at once.
	verdict error
}

// mostPlans is how often a plan is made for one work: a migration has several statements, and the one after that which
// a plan knows of may hold the work up until the table is another again.
const mostPlans = 4

// byPlan does work by the plan. The catalog may have changed since the plan was made: then it is read again, and the
// work is done by what it says now.
func (c *Cursor) byPlan(ctx context.Context, work func(*plan.Plan) error) error {
	for plans := 1; ; plans++ {
		p, err := c.current(ctx)
		if err != nil {
			return err
		}
		if err = work(p); err == nil {
			return nil
		}
		kind := c.dialect.Classify(err)
		switch {
		case plans < mostPlans && (errors.Is(err, engine.ErrSchemaChanged) || kind == engine.FaultSchema):
			c.forget(p)
			continue
		case kind == engine.FaultDenied: // the catalog shows less to who may read less: not to be believed afterwards
			c.forget(p)
			if p.Tracked != nil && plans == 1 {
				continue // row security was switched on: the catalog says what to do
			}
		}
		return err
	}
}

// mark is the highest position at a moment of this process' monotonic clock; the beginning, where there was no row.
type mark struct {
	at  time.Time
	top change.Cursor
}

type place struct {
	at     time.Time
	warned bool
	table  string // which one it was then
}
