package publisher

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/feed"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// What was read from the catalog is believed for so long.
const catalogAge = 5 * time.Minute

// newCatalog does not connect yet. The pool is not its own.
func newCatalog(cfg Config, conn engine.Connection, pool *sql.DB) (*catalog, error) { //nolint:gocritic // a copy is wanted: nobody changes it afterwards
	e, outbox, claims, err := tablesOf(conn.Engine, cfg.Table, cfg.ClaimsTable)
	if err != nil {
		return nil, err
	}
	c := &catalog{cfg: cfg, conn: conn, texts: e, outbox: outbox, claims: claims}
	transient := func(err error) bool { return engine.Transient(conn.Dialect, err) }
	c.db = statement.NewDB(e.syntax, e.low, pool, cfg.Timeout, transient, c.explain)
	return c, nil
}

// session is open for a session, which publishes nothing that it could not mark: each tick would publish it again.
func (c *catalog) session(ctx context.Context) (*feed.Outbox, error) {
	o, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if !o.tried.Load() {
		if err := c.writable(ctx, o); err != nil {
			return nil, err
		}
		o.tried.Store(true)
	}
	return &o.Outbox, nil
}

// explain wraps an error with what was tried, and with the remedy where settings or schema are at fault.
func (c *catalog) explain(what string, err error) error {
	fault := engine.Classify(c.conn.Dialect, err)
	switch {
	case errors.Is(err, claims.ErrLost), errors.Is(err, poller.ErrConfig):
	case errors.Is(err, rows.ErrTimed):
		c.stale.Store(true)
	case fault == engine.FaultConnect:
		return fmt.Errorf("%s: cannot connect in time: %s: %w", what, c.conn.Dialect.Syntax().Advice.Reach, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: it took longer than source__timeout (%v): %w", what, c.cfg.Timeout, err)
	case fault == engine.FaultLogin:
		return fmt.Errorf("%w: %s: the database refused the login: correct user, password or database in the setting that "+
			"source__connection names: %w", poller.ErrLogin, what, err)
	case fault == engine.FaultPooler:
		return fmt.Errorf("%w: %s: %s: %w", poller.ErrConfig, what, engine.AskPooler, err)
	case fault == engine.FaultReadOnly: // it may heal: a failover is under way
		engine.Leave(c.db.Pool)
		return fmt.Errorf("%s: %s source__connection names: %w", what, engine.AskWritable, err)
	case fault == engine.FaultMissing:
		return fmt.Errorf("%w: %s: %s: %w", poller.ErrConfig, what, engine.AskFile, err)
	case fault == engine.FaultSchema:
		c.stale.Store(true)
		return fmt.Errorf("%w: %s: a column or table is missing, or has another type, in %s or %s: `rowrelay outbox init %s "+
			"--apply` creates what is missing, and shows the types without --apply: %w", poller.ErrConfig, what, c.outbox,
			c.claims, c.cfg.Poller, err)
	case engine.Misconfigured(c.conn.Dialect, err):
		c.stale.Store(true)
		return fmt.Errorf("%w: %s: the user of source__connection needs SELECT, INSERT, UPDATE and DELETE on %s and %s, which "+
			"`rowrelay outbox init %s --apply` creates: %w", poller.ErrConfig, what, c.outbox, c.claims, c.cfg.Poller, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// open returns the outbox as the catalog shows it, from memory where that is fresh.
func (c *catalog) open(ctx context.Context) (*opened, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stale.Swap(false) && c.known != nil && time.Since(c.readAt) < catalogAge {
		return c.known, nil
	}
	o, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	c.known, c.readAt = o, time.Now()
	return o, nil
}

func (c *catalog) read(ctx context.Context) (*opened, error) {
	qualified, err := c.resolve(ctx, c.outbox, "")
	if err == nil && c.texts.ready != nil {
		err = c.db.Do(ctx, "read the database's options", c.texts.ready)
	}
	if err != nil {
		return nil, err
	}
	t, err := c.table(ctx)
	if err != nil {
		return nil, err
	}
	own, timed, how := rows.IsOwn(c.texts.rows, names(&t)), rows.IsTimed(names(&t)), ""
	if !own {
		how = " --beside"
	}
	if _, err = c.resolve(ctx, c.claims, how); err != nil {
		return nil, err
	}
	o := &opened{Outbox: feed.Outbox{
		Origin:   poller.Origin{Engine: c.conn.Engine, Table: qualified, Fingerprint: c.fingerprint(qualified)},
		Warnings: slices.Clone(c.conn.Warnings),
		Own:      own && len(c.cfg.Map) == 0,
	}}
	if t.Unproved != "" {
		return nil, fmt.Errorf("%w: several events of %s may have one id, and would be marked as published together: %s",
			poller.ErrConfig, qualified, t.Unproved)
	}
	if o.Own {
		err = c.own(ctx, &t, o, timed)
	} else {
		err = c.mapped(ctx, &t, o)
	}
	if err != nil {
		return nil, err
	}
	o.Claims, o.Events = o.events.Claims, o.events
	return o, nil
}

// warn adds a warning.
func (o *opened) warn(format string, args ...any) {
	o.Warnings = append(o.Warnings, fmt.Sprintf(format, args...))
}

// claimsOf are the claims of the outbox, divided into so many partitions. All who publish from one table exclude each
// other, however they write its name.
func (c *catalog) claimsOf(qualified string, partitions int) *claims.Table {
	place := claims.Place{Table: c.claims.String(), Outbox: claimName(qualified)}
	return claims.New(c.db, c.texts.claims, place, partitions, c.cfg.Alive)
}

func (c *catalog) rowsConfig() rows.Config {
	cfg := &c.cfg
	return rows.Config{Ordering: cfg.Ordering, Block: cfg.Policy.Block, MaxRowBytes: cfg.MaxRowBytes,
		MostRows: c.texts.mostRows, Timeout: cfg.Timeout, Retention: cfg.Retention,
		Classify: func(err error) engine.Fault { return engine.Classify(c.conn.Dialect, err) }}
}

func (c *catalog) ownEvents(qualified string, timed bool) *rows.Table {
	cfg := c.rowsConfig()
	cfg.Timed = timed
	return rows.Own(c.db, c.texts.rows, c.outbox, cfg, c.claimsOf(qualified, c.cfg.Partitions))
}

// table reads what the catalog says of the table and its indexes.
func (c *catalog) table(ctx context.Context) (t engine.Table, err error) {
	name, err := engine.SplitName(c.cfg.Table)
	if err != nil {
		return t, err
	}
	err = c.db.Do(ctx, "read the keys of the table", func(ctx context.Context, _ statement.Querier) error {
		conn, err := c.db.Pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		t, err = c.conn.Dialect.Table(ctx, conn, name)
		return err
	})
	return t, err
}

// resolve finds a table. how are the flags of `outbox init` that creates it.
func (c *catalog) resolve(ctx context.Context, n statement.Name, how string) (string, error) {
	qualified, err := c.lookFor(ctx, n)
	if err == nil && qualified == "" {
		err = fmt.Errorf("%w: there is no table %s (or the user of source__connection may not see it): run `rowrelay outbox init %s%s --apply`",
			poller.ErrConfig, n, c.cfg.Poller, how)
	}
	return qualified, err
}

func (c *catalog) lookFor(ctx context.Context, n statement.Name) (qualified string, err error) {
	err = c.db.Do(ctx, "read the catalog", func(ctx context.Context, q statement.Querier) error {
		qualified, err = c.texts.resolve(ctx, q, n)
		return err
	})
	return qualified, err
}

// names are those of a table's columns.
func names(t *engine.Table) []string {
	list := make([]string, len(t.Columns))
	for i := range t.Columns {
		list[i] = t.Columns[i].Name
	}
	return list
}

// fingerprint identifies what is published, whoever does it: server, database and table.
func (c *catalog) fingerprint(table string) string {
	data, err := json.Marshal([]string{"outbox", "1", c.conn.Engine, c.conn.Identity, table})
	if err != nil {
		panic(fmt.Sprintf("publisher: a list of strings does not encode: %v", err))
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// claimName is an outbox' name in the claims table, whose column holds 190 characters.
func claimName(qualified string) string {
	const room = 190
	if len(qualified) <= room {
		return qualified
	}
	sum := sha256.Sum256([]byte(qualified))
	return plaintext.Start(qualified, room-33) + "#" + hex.EncodeToString(sum[:16])
}
