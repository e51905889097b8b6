package publisher

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
)

// sqlTable is the table over database/sql. Claims are the same for every outbox and are its own; events are those of
// ownEvents for a table of `rowrelay outbox init`, or of a mapped table (sql_mapped.go).
type sqlTable struct {
	cfg  Config
	conn engine.Connection
	d    dialect
	db   *sql.DB
	// outbox and claims are quoted for FROM; they are as the settings write them.
	outbox, claims name

	mu     sync.Mutex
	known  *catalog // nil until it was read
	readAt time.Time
	stale  atomic.Bool // a statement failed by what the catalog holds
}

// catalog is what was learned about the outbox.
type catalog struct {
	// name is the outbox' qualified name: what the column outbox of the claims table says, so that all who publish from one table
	// exclude each other, however they write it.
	name        string
	description description
	events      eventSQL
}

// eventSQL is the part of table that depends on the outbox' columns: ownEvents here, another for mapped tables.
type eventSQL interface {
	look(ctx context.Context) (glance, error)
	fetch(ctx context.Context, ranges []bucketRange, after position, limit poller.Limit) ([]row, bool, error)
	pick(ctx context.Context, owner string, token uint64, ttl time.Duration, limit poller.Limit) ([]row, bool, error)
	due(ctx context.Context, ranges []bucketRange, limit poller.Limit, c claim) ([]row, time.Duration, error)
	other(ctx context.Context, ranges []bucketRange, avoid []aggregate) (*row, error)
	settle(ctx context.Context, owner string, held int, m marks) error
	// restore makes PUBLISHING events of an owner's claims PENDING, in a transaction that gives the claims up; units nil means all.
	restore(ctx context.Context, q querier, owner string, units []string) error
	mend(ctx context.Context) (int, error)
	work(ctx context.Context, n int) ([]int, error)
	figures(ctx context.Context) (poller.OutboxFigures, error)
}

// What was read from the catalog is believed for so long.
const catalogAge = 5 * time.Minute

// newTable does not connect yet.
func newTable(cfg Config, conn engine.Connection) (*sqlTable, error) { //nolint:gocritic // a copy is wanted: nobody changes it afterwards
	d, err := dialectFor(conn.Engine)
	if err != nil {
		return nil, err
	}
	outbox, err := parseName(d, "source__table", cfg.Table)
	if err != nil {
		return nil, err
	}
	claims, err := parseName(d, "source__claims_table", cfg.ClaimsTable)
	if err != nil {
		return nil, err
	}
	return &sqlTable{cfg: cfg, conn: conn, d: d, db: conn.WriteDB(max(cfg.Connections, 1)), outbox: outbox, claims: outbox.beside(claims)}, nil
}

func (t *sqlTable) close() error {
	if err := t.db.Close(); err != nil {
		return fmt.Errorf("close the outbox' connections: %w", err)
	}
	return nil
}

func (t *sqlTable) statement() *statement { return &statement{d: t.d} }

// tries bounds the attempts of one piece of work, wait what lies between them at the beginning.
const (
	tries     = 5
	firstWait = 20 * time.Millisecond
	lastWait  = time.Second
)

var errTimeout = errors.New("source__timeout")

// do runs work, each attempt under source__timeout, and repeats it after a transient fault. work must be repeatable:
// whether an attempt that failed has taken effect is not known.
func (t *sqlTable) do(ctx context.Context, what string, work func(context.Context, querier) error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = firstWait, lastWait
	for try := 1; ; try++ {
		err := t.once(ctx, work)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, try == tries, !engine.Transient(t.conn.Dialect, err):
			return t.explain(what, err)
		}
		timer := time.NewTimer(wait.NextBackOff())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return t.explain(what, err)
		}
	}
}

func (t *sqlTable) once(ctx context.Context, work func(context.Context, querier) error) error {
	if t.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.cfg.Timeout, errTimeout)
		defer cancel()
	}
	return work(ctx, t.db)
}

// tx is do in one transaction, READ COMMITTED: every statement sees what was committed before it began. (MySQL's sessions
// are set up so; SQLite's transactions begin immediate and are alone.)
func (t *sqlTable) tx(ctx context.Context, what string, work func(context.Context, querier) error) error {
	return t.do(ctx, what, func(ctx context.Context, _ querier) (err error) {
		tx, err := t.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = tx.Rollback() // what failed is told; the connection is dropped where even this fails
			}
		}()
		if err := work(ctx, tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// explain wraps an error with what was tried, and with the mend where settings or schema are at fault.
func (t *sqlTable) explain(what string, err error) error {
	switch {
	case errors.Is(err, errLost), errors.Is(err, poller.ErrConfig):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: it took longer than source__timeout (%v): %w", what, t.cfg.Timeout, err)
	case engine.Misconfigured(t.conn.Dialect, err):
		t.stale.Store(true)
		return fmt.Errorf("%w: %s: the user of source__connection needs SELECT, INSERT, UPDATE and DELETE on %s and %s, which "+
			"`rowrelay outbox init %s --apply` creates: %w", poller.ErrConfig, what, t.outbox, t.claims, t.cfg.Poller, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// describe reads the catalog where what it knows is not fresh.
func (t *sqlTable) describe(ctx context.Context) (description, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return description{}, err
	}
	return c.description, nil
}

// catalog returns what is known of the outbox, from memory where that is fresh.
func (t *sqlTable) catalog(ctx context.Context) (*catalog, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stale.Swap(false) && t.known != nil && time.Since(t.readAt) < catalogAge {
		return t.known, nil
	}
	c, err := t.readCatalog(ctx)
	if err != nil {
		return nil, err
	}
	t.known, t.readAt = c, time.Now()
	return c, nil
}

func (t *sqlTable) readCatalog(ctx context.Context) (*catalog, error) {
	c := &catalog{}
	var columns []string
	err := t.do(ctx, "read the catalog", func(ctx context.Context, q querier) error {
		qualified, err := t.resolve(ctx, q, t.outbox, "")
		if err != nil {
			return err
		}
		if d, ok := t.d.(sqlServer); ok {
			if err := d.versioned(ctx, q); err != nil {
				return err
			}
		}
		c.name = claimName(qualified)
		c.description.Engine, c.description.Table = t.d.engine(), qualified
		if columns, err = t.columns(ctx, q); err != nil {
			return err
		}
		how := ""
		if !isOwn(t.d, columns) {
			how = " --beside"
		}
		_, err = t.resolve(ctx, q, t.claims, how)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.description.Fingerprint = t.fingerprint(c.description.Table)
	c.description.warnings = t.conn.Warnings
	c.description.skips = true
	if len(t.cfg.Map) == 0 && isOwn(t.d, columns) {
		c.description.own, c.description.buckets = true, true
		c.events = &ownEvents{t, c.name}
		return c, nil
	}
	if c.events, err = newMapped(ctx, t.db, t, c); err != nil {
		return nil, err
	}
	return c, nil
}

// resolve finds a table. how are the flags of `outbox init` that creates it.
func (t *sqlTable) resolve(ctx context.Context, q querier, n name, how string) (string, error) {
	qualified, err := t.d.resolve(ctx, q, n.parts)
	if err != nil {
		return "", err
	}
	if qualified == "" {
		return "", fmt.Errorf("%w: there is no table %s (or the user of source__connection may not see it): run `rowrelay outbox init %s%s --apply`",
			poller.ErrConfig, n, t.cfg.Poller, how)
	}
	return qualified, nil
}

// columns are the outbox' columns, as a result of no rows names them.
func (t *sqlTable) columns(ctx context.Context, q querier) ([]string, error) {
	rows, err := q.QueryContext(ctx, "SELECT * FROM "+t.outbox.String()+" WHERE 1 = 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	return columns, rows.Err()
}

// fingerprint identifies what is published, whoever does it: server, database and table.
func (t *sqlTable) fingerprint(table string) string {
	data, err := json.Marshal([]string{"outbox", "1", t.d.engine(), t.conn.Identity, table})
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

// read runs a statement of events' columns and stops at the limit; more says that there was another row.
func (s *statement) read(ctx context.Context, q querier, limit poller.Limit, scanned func(func(...any) error) (row, error)) (rows []row, more bool, err error) {
	size := 0
	err = s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		if len(rows) > 0 && (len(rows) >= limit.Rows || limit.Bytes > 0 && size >= limit.Bytes) {
			more = true
			return false, nil
		}
		r, err := scanned(scan)
		if err != nil {
			return false, err
		}
		size += len(r.outbox.Payload)
		if len(rows) > 0 && limit.Bytes > 0 && size > limit.Bytes {
			more = true // this one comes with the next fetch
			return false, nil
		}
		rows = append(rows, r)
		return true, nil
	})
	return rows, more, err
}
