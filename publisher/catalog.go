package publisher

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/feed"
	"github.com/rowrelay/rowrelay/publisher/mapping"
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
	outbox := o.Outbox
	return &outbox, nil
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

// locks warns where writers on MySQL or MariaDB lack rows to lock (package outbox): earlier versions filled them by a
// recursion, which the server ends after 1,000. Who publishes need not be allowed to see them: then nothing is said.
func (c *catalog) locks(ctx context.Context, o *opened) {
	if c.conn.Engine != "mysql" {
		return
	}
	var n int
	err := c.db.Do(ctx, "count the rows for writers to lock", func(ctx context.Context, q statement.Querier) error {
		return q.QueryRowContext(ctx, "SELECT COUNT(*) FROM rowrelay_locks").Scan(&n)
	})
	if err == nil && n < 1024 {
		o.warn("rowrelay_locks has %d of its 1024 rows: writers of the aggregates that lack one lock "+
			"nothing, and their events may come out of order, or are refused: rowrelay outbox init %s --apply adds them", n, c.cfg.Poller)
	}
}

// charset refuses a table that was created without the character set of `rowrelay outbox init`: on MySQL and MariaDB
// no statement that compares aggregates works in another one than utf8mb4.
func (c *catalog) charset(t *engine.Table, qualified string) error {
	for i := range t.Columns {
		col := &t.Columns[i]
		if c.conn.Engine == "mysql" && strings.HasPrefix(col.Name, "aggregate_") && col.Collation != "" &&
			!strings.HasPrefix(col.Collation, "utf8mb4_") {
			return fmt.Errorf("%w: %s.%s has the collation %s, and aggregates are compared as utf8mb4: ALTER TABLE %[2]s "+
				"CONVERT TO CHARACTER SET utf8mb4", poller.ErrConfig, qualified, col.Name, col.Collation)
		}
	}
	return nil
}

// place is where the outbox' claims stand. All who publish from one table exclude each other, however they write its
// name.
func (c *catalog) place(qualified string) claims.Place {
	return claims.Place{Table: c.claims.String(), Outbox: claimName(qualified)}
}

func (c *catalog) rowsConfig() rows.Config {
	cfg := &c.cfg
	return rows.Config{Ordering: cfg.Ordering, Partitions: cfg.Partitions, Block: cfg.Policy.Block,
		MaxRowBytes: cfg.MaxRowBytes, MostRows: c.texts.mostRows, Timeout: cfg.Timeout, Retention: cfg.Retention,
		Alive: cfg.Alive, Refused: func(err error) bool {
			kind := engine.Classify(c.conn.Dialect, err)
			return kind == engine.FaultConstraint || kind == engine.FaultData
		}, Locked: func(err error) bool { return engine.Classify(c.conn.Dialect, err) == engine.FaultLocked }}
}

// own completes what is known of a table of `rowrelay outbox init`.
func (c *catalog) own(ctx context.Context, t *engine.Table, o *opened, timed bool) error {
	if err := c.charset(t, o.Table); err != nil {
		return err
	}
	if err := c.leftPublishing(ctx, t, o.Table); err != nil {
		return err
	}
	if err := c.indexes(t, o); err != nil {
		return err
	}
	c.locks(ctx, o)
	if !timed {
		o.warn("%s lacks available_at or expires_at, so that no event of it is delayed, or expires: run `rowrelay outbox "+
			"init %s --apply`", o.Table, c.cfg.Poller)
	}
	o.events = c.ownEvents(o.Table, timed)
	return nil
}

func (c *catalog) ownEvents(qualified string, timed bool) *rows.Table {
	cfg := c.rowsConfig()
	cfg.Timed = timed
	return rows.Own(c.db, c.texts.rows, c.outbox, cfg, c.texts.claims, c.place(qualified))
}

// mapped completes what is known of another framework's table.
func (c *catalog) mapped(ctx context.Context, t *engine.Table, o *opened) error {
	cfg := &c.cfg
	if cfg.Strategy != "" && cfg.Strategy != claims.Leader {
		return fmt.Errorf("%w: source__strategy=%s needs the columns of `rowrelay outbox init`, and %s is mapped: leave source__strategy out, or "+
			"write leader", poller.ErrConfig, cfg.Strategy, o.Table)
	}
	l, err := mapping.Read(cfg.Map, o.Table, c.columns(t), c.texts.textTimes)
	if err != nil {
		return err
	}
	side := rows.SideOf(c.claims)
	found, err := c.lookFor(ctx, side)
	if err != nil {
		return err
	}
	if found == "" {
		return fmt.Errorf("%w: there is no table %s, where the failed events of the mapped table %s are kept: run `rowrelay outbox init %s --beside --apply`",
			poller.ErrConfig, side, o.Table, cfg.Poller)
	}
	if err := proveID(t, o.Table, l.ID.Name); err != nil {
		return err
	}
	if most := c.texts.longestID; most > 0 && !l.ID.Fits(most) {
		return fmt.Errorf("%w: source__map__id: column %s of %s is %s, and the table of failed events holds ids of up to %d characters: "+
			"name another unique column, or make it shorter", poller.ErrConfig, l.ID.Name, o.Table, l.ID.Type, most)
	}
	events := func(index string) *rows.Table {
		return rows.Mapped(c.db, c.texts.values, l, c.outbox, side, index, c.rowsConfig(), c.texts.claims, c.place(o.Table))
	}
	o.Warnings = append(o.Warnings, l.Warnings...)
	for _, index := range l.Serving(t.Indexes) {
		o.events = events(index)
		if serves, err := c.serves(ctx, o.events); serves || err != nil {
			return err
		}
	}
	o.events = events("")
	if pending, order := l.Search(); !t.View && order != nil {
		o.warn("no index of %s holds what is to be published in its order, so that each poll reads and "+
			"sorts all of it: create one on (%s), or on (%s) for those rows alone", o.Table,
			strings.Join(append(pending, order...), ", "), strings.Join(order, ", "))
	}
	return nil
}

// serves tries whether the index that a table's statements name can be used for them. An error that says nothing about
// the index is none of its own.
func (c *catalog) serves(ctx context.Context, events *rows.Table) (bool, error) {
	if c.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	err := events.Served(ctx, c.db.Pool)
	if err != nil && (ctx.Err() != nil || engine.Transient(c.conn.Dialect, err)) {
		return false, c.explain("try the index of pending events", err)
	}
	return err == nil, nil
}

// proveID refuses a mapped table whose id may stand in two rows: they would be marked together, and one never sent.
func proveID(t *engine.Table, table, id string) error {
	if t.Unique([]string{id}) != "" {
		return nil
	}
	return fmt.Errorf("%w: source__map__id: no primary key and no unique index of %s proves that %s stands in one row only; two with the same "+
		"would be marked as published together, and one of them never sent: create a unique index on %[3]s, or name another column",
		poller.ErrConfig, table, id)
}

// lacks are the indexes of `rowrelay outbox init` that the table lacks, older those that it has with other columns.
func (c *catalog) lacks(t *engine.Table) (lacks, older []rows.Index) {
	for _, ix := range rows.Indexes(c.texts.rows, c.outbox) {
		i := slices.IndexFunc(t.Indexes, func(have engine.Index) bool { return have.Name == ix.Name })
		if i < 0 {
			lacks = append(lacks, ix)
			continue
		}
		have := &t.Indexes[i]
		if strings.Join(have.Columns[:min(have.Declared, len(have.Columns))], ", ") != ix.Columns {
			older = append(older, ix)
		}
	}
	return lacks, older
}

// indexes compares the table's with those of `rowrelay outbox init`.
func (c *catalog) indexes(t *engine.Table, o *opened) error {
	lacks, older := c.lacks(t)
	if len(lacks) > 0 && rows.Needs(c.texts.rows) {
		return fmt.Errorf("%w: %s lacks %d index(es), without which nothing can be published: run `rowrelay outbox init "+
			"%s --apply`, or: %s", poller.ErrConfig, o.Table, len(lacks), c.cfg.Poller, strings.Join(statements(lacks), "; "))
	}
	for _, ix := range lacks {
		o.warn("%s lacks the index %s, without which a poll reads more than it brings: run `rowrelay outbox init %s --apply`",
			o.Table, ix.Name, c.cfg.Poller)
	}
	for _, ix := range older {
		o.warn("%s has the index %s of an earlier version: to have the new one, drop it while nothing is published, and run "+
			"`rowrelay outbox init %s --apply`", o.Table, ix.Name, c.cfg.Poller)
	}
	return nil
}

func statements(list []rows.Index) (texts []string) {
	for i := range list {
		texts = append(texts, list[i].Statement)
	}
	return texts
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

// columns are what a mapping is made of. SQLite calls a column of the primary key nullable that nobody means to be.
func (c *catalog) columns(t *engine.Table) []column.Column {
	list := make([]column.Column, len(t.Columns))
	for i := range t.Columns {
		is := &t.Columns[i]
		list[i] = column.Column{Name: is.Name, Type: cmp.Or(is.Base, is.Type),
			Nullable: is.Nullable && !slices.Contains(t.PrimaryKey, is.Name)}
		if list[i].Kind = c.texts.kind(list[i].Type); is.Enum {
			list[i].Kind = column.Text
		}
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
