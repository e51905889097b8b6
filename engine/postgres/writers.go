package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// A row's system column xmin is the transaction, or the savepoint of one, that wrote this version of it: the lowest 32
// bits of its number. A savepoint's number is above its transaction's. So whatever was written under a number below a
// snapshot's xmin (the lowest transaction that still runs) is visible to that snapshot, or never will be.

// writersSQL tells the lowest running and the next number in a snapshot that is taken before that of the page, and how
// far the log was written then, and is safe on disk. It is NULL on a standby, which does not know what is open.
const writersSQL = `CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN concat_ws(' ',
	pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()),
	pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()),
	pg_catalog.pg_current_wal_insert_lsn() - '0/0', pg_catalog.pg_current_wal_flush_lsn() - '0/0') END`

// writers is what a connection knows of the server's transactions.
type writers struct {
	asks bool   // this server, and this role's rights, let writersSQL be asked
	told string // its last answer

	// What is ended for good: with synchronous_commit=off a transaction is seen before it is safe on disk, and after a
	// crash of the server another one takes its number. So a snapshot counts once the log was flushed up to where it was
	// written when the snapshot was taken.
	of      string // the incarnation
	ended   uint64
	pending snapshotAt
}

// snapshotAt is a snapshot that counts once the log is flushed up to a place.
type snapshotAt struct {
	server string // the process that took it: another one may be of another life of the server
	xmin   uint64
	log    uint64
}

// askWriters finds out whether the server tells of its transactions.
func (s *session) askWriters(ctx context.Context) error {
	s.writers.asks = false
	err := s.query(ctx, "SELECT "+writersSQL, nil, nil, nil)
	if sqlState(err, "42", "0A", "55") {
		return nil // an older version, a role without the right, or another product
	}
	s.writers.asks = err == nil
	return err
}

// note takes over what the last statement was told, from a server of an incarnation. sure says that this was known of
// it before the page was read: behind a pooler another server may have told it since. Numbers mean nothing where the
// incarnation does not tell histories apart.
func (w *writers) note(server, incarnation string, sure bool) engine.Writers {
	var xmin, next, log, safe uint64
	if _, err := fmt.Sscan(w.told, &xmin, &next, &log, &safe); err != nil || !whole(incarnation) {
		w.of, w.ended, w.pending = "", 0, snapshotAt{}
		return engine.Writers{}
	}
	if w.of != incarnation {
		w.of, w.ended, w.pending = incarnation, 0, snapshotAt{}
	}
	if p := w.pending; p.server == server && safe >= p.log {
		w.ended = max(w.ended, p.xmin)
	}
	if safe >= log {
		w.ended = max(w.ended, xmin)
	}
	w.pending = snapshotAt{server, xmin, log}
	if !sure {
		return engine.Writers{Next: next}
	}
	return engine.Writers{Next: next, Ended: w.ended}
}

// whole reports whether an incarnation has all of its parts.
func whole(incarnation string) bool {
	parts := strings.Split(incarnation, "/")
	for _, part := range parts {
		if part == "" {
			return false
		}
	}
	return len(parts) > len(identityParts)
}

// WriterOf reads the writers of a table's own rows. Those of a table that inherits from it may come into sight without
// being written.
func WriterOf(oid string) *engine.Writer {
	return &engine.Writer{
		Column: engine.Column{Name: "xmin", Type: "xid", Value: engine.Value{Kind: engine.KindInteger, Code: pgInteger,
			Expr: "CASE WHEN r.tableoid = " + oid + " THEN %s::text ELSE '0' END"}},
		Needs: "r.tableoid, r.xmin",
		Since: func(number uint64) string {
			const low = 1<<32 - 1
			return fmt.Sprintf("(r.tableoid <> %s OR r.xmin::text::bigint < 3 OR (r.xmin::text::bigint - %d) & %d < %d)", oid,
				number&low, uint64(low), uint64(1)<<31)
		},
	}
}
