package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Cursor is a table or query that is read in the order of a cursor: cursor mode. It implements poller.Source, and is
// safe for concurrent use (the outputs of one poller share it).
type Cursor struct {
	cfg     Config
	dialect engine.Dialect
	db      *sql.DB
	// identity is the connection's own, for the fingerprint.
	identity string
	// warnings are the connection's.
	warnings []string
	// slots holds a token for every session in use.
	slots chan struct{}

	settling settling
	idling   idling

	// withLocks says that a session was refused to read row versions here.
	withLocks atomic.Bool

	mu sync.Mutex
	// lateSaid says that the operator was told what may be missed.
	lateSaid bool
	closed   bool
	idle     []*session
	plan     *plan
	planned  time.Time
	// tableSeen is the table's identity as the catalog showed it last, where the catalog has to be asked for it.
	tableSeen string
	// What the last looks for rows that paging cannot show found (probe.go).
	nulls, strays, ahead finding
	// places are positions that were found sound (gap.go).
	places places
	// rows is how many rows the next statement asks for when the last page was full of bytes before it was full of rows:
	// what is asked for beyond the limit is read from the network and thrown away. 0: as many as the limit allows.
	rows int
}

var _ poller.Source = (*Cursor)(nil)

// New returns the source of a poller. It checks what can be checked without the database, and does not connect.
func New(cfg Config, conn engine.Connection) (*Cursor, error) {
	if conn.Dialect == nil {
		return nil, fmt.Errorf("%w: there is no connection", poller.ErrConfig)
	}
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	return &Cursor{cfg: cfg, dialect: conn.Dialect, identity: conn.Identity, warnings: conn.Warnings, db: conn.ReadDB(cfg.Connections),
		slots: make(chan struct{}, cfg.Connections), places: places{}}, nil
}

// Close closes every connection.
func (c *Cursor) Close() error {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.closed = nil, true
	c.mu.Unlock()
	for _, s := range idle {
		s.discard()
	}
	if err := c.db.Close(); err != nil {
		return fmt.Errorf("close the source's connections: %w", err)
	}
	return nil
}

// planAge is how long a plan is used before the catalog is read again: a new column appears after at most so long.
const planAge = 5 * time.Minute

// Describe connects where needed, proves the settings against the catalog, and says what the source is. What it learned
// is used for five minutes, or until a statement fails because the schema changed; meanwhile it costs no round trip and
// repeats no warnings.
func (c *Cursor) Describe(ctx context.Context) (poller.Description, error) {
	p, known, err := c.current(ctx)
	if err != nil {
		return poller.Description{}, err
	}
	d := poller.Description{Fingerprint: p.fingerprint, Engine: p.syntax.Name, Table: p.table.Name, Late: p.late.mode, Coarse: p.coarse,
		Columns: p.kinds(), Dates: c.dates(p)}
	if !known {
		d.Warnings = p.warnings
	}
	return d, nil
}

// current returns the plan, reading the catalog where there is none that is fresh; known says that it was.
func (c *Cursor) current(ctx context.Context) (p *plan, known bool, err error) {
	c.mu.Lock()
	p, age := c.plan, time.Since(c.planned)
	c.mu.Unlock()
	if p != nil && age < planAge {
		return p, true, nil
	}
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		p, err = c.makePlan(ctx, s)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("describe the source: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan, c.planned, c.tableSeen = p, time.Now(), p.table.Identity
	return p, false, nil
}

// makePlan reads the catalog.
func (c *Cursor) makePlan(ctx context.Context, s *session) (*plan, error) {
	t, err := c.catalog(ctx, s)
	if err != nil {
		return nil, err
	}
	t.Warnings = slices.Concat(c.warnings, t.Warnings, s.server.Warnings)
	t.ReadOnly, t.Locking = s.server.ReadOnly, s.server.Locking
	p, err := newPlan(c.dialect, &c.cfg, c.identity, t)
	if err != nil {
		return nil, err
	}
	c.warnLate(ctx, s, p)
	return p, nil
}

func (c *Cursor) catalog(ctx context.Context, s *session) (engine.Table, error) {
	if c.cfg.Query != "" {
		// Checked before it is sent: what a second statement in it does is not undone by a later complaint.
		if f := c.dialect.Syntax().Text.Query(c.cfg.Query); f != nil {
			return engine.Table{}, fmt.Errorf("%w: source__query %s: %s", poller.ErrConfig, f.Problem, f.Remedy)
		}
		t, err := c.dialect.Query(ctx, s.conn, c.cfg.Query)
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
	t, err := c.dialect.Table(ctx, s.conn, parts)
	if errors.Is(err, engine.ErrNoTable) {
		return engine.Table{}, fmt.Errorf("%w: source__table %q: the database has no such table or view, or its user may not see it: "+
			"correct the name (schema.table), or grant SELECT on it", poller.ErrConfig, c.cfg.Table)
	}
	if err != nil {
		return engine.Table{}, fmt.Errorf("read the catalog for %s: %w", c.cfg.Table, err)
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
func (c *Cursor) forget(p *plan) {
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
	p, _, err := c.current(ctx)
	if err != nil {
		return nil, "", err
	}
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		switch {
		case p.late.exact == exactSnapshots:
			start, err = c.startWindow(ctx, s, p)
		case c.cfg.Start == "" || c.cfg.Start == "earliest":
		case c.cfg.Start == "latest":
			start, err = c.latest(ctx, s, p)
		default:
			start, err = p.startAt(&c.cfg)
		}
		if err == nil && c.named() {
			start, err = c.inForm(ctx, s, p, start)
		}
		if err != nil {
			return err
		}
		if err := c.prove(ctx, s, p, start); err != nil {
			return err
		}
		err = c.dialect.Refresh(ctx, s.conn, &s.server)
		incarnation = s.server.Incarnation
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("find the start: %w", err)
	}
	return start, incarnation, nil
}

// BeforeLatest returns the position of a row that at least so many rows come after, or the beginning where there are fewer. It
// is for source__start=latest only: asked says whether that was set.
func (c *Cursor) BeforeLatest(ctx context.Context, rows int) (low change.Cursor, asked bool, err error) {
	if c.cfg.Start != "latest" {
		return nil, false, nil
	}
	err = c.byPlan(ctx, func(p *plan) error {
		return c.run(ctx, func(ctx context.Context, s *session) error {
			low = nil
			n := 0
			return c.dialect.Read(ctx, s.conn, p.sel.newest(rows+1).text, nil, p.sel.order, func(r engine.Row) (bool, error) {
				if n++; n <= rows {
					return true, nil
				}
				low, err = p.cursorOf(r)
				return false, err
			})
		})
	})
	if err != nil {
		return nil, true, fmt.Errorf("find the rows before the latest: %w", err)
	}
	return low, true, nil
}

// named reports whether source__start is a cursor's value.
func (c *Cursor) named() bool {
	return !slices.Contains([]string{"", "earliest", "latest"}, c.cfg.Start)
}

// prove reads one row by the poller's own statement. The catalog does not show that source__where can be run, and a
// document that was made for one that cannot would hold its fingerprint: mending the condition would then look like
// another source.
func (c *Cursor) prove(ctx context.Context, s *session, p *plan, start change.Cursor) error {
	if p.late.exact == exactSnapshots {
		return c.proveWindow(ctx, s, p, start)
	}
	pos, err := p.decode(start)
	if err != nil {
		return err
	}
	st := p.sel.page(1, span{after: len(pos)})
	args, err := p.args(st, pos, nil)
	if err != nil {
		return err
	}
	err = c.dialect.Read(ctx, s.conn, st.text, args, p.sel.columns, func(engine.Row) (bool, error) { return false, nil })
	if err != nil {
		return fmt.Errorf("read the first row: %w", err)
	}
	return nil
}

// latest is the position of the last row, but for those that are dated beyond the database's clock.
func (c *Cursor) latest(ctx context.Context, s *session, p *plan) (last change.Cursor, err error) {
	err = c.dialect.Read(ctx, s.conn, p.sel.latest().text, nil, p.sel.order, func(r engine.Row) (bool, error) {
		last, err = p.cursorOf(r)
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the latest row: %w", err)
	}
	if last, err = c.notAhead(ctx, s, p, last); err != nil {
		return nil, fmt.Errorf("read the latest row that is not dated ahead: %w", err)
	}
	return last, nil
}
