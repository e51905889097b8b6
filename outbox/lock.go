package outbox

import (
	"cmp"
	"context"
	"hash/crc32"
	"slices"
	"strings"
)

// The statements that lock an aggregate (type, id) until the transaction ends. They are the same for writers in every
// language: docs/outbox-writing.md.
const (
	lockPostgres = `SELECT pg_advisory_xact_lock(hashtextextended($1 || chr(31) || $2, 0))`
	// MySQL has no lock that ends with the transaction but that of a row: one of 1024, by a hash of the aggregate. Two
	// aggregates with one row wait for each other without need. The hash is that of the bytes in UTF-8, which other
	// writers leave to the server: CRC32(CONVERT(CONCAT(type, CHAR(31), id) USING utf8mb4)) & 1023. Here it shows how
	// many rows have to be there.
	lockMySQL  = `SELECT slot FROM rowrelay_locks WHERE slot IN (%s) ORDER BY slot FOR UPDATE`
	lockServer = `DECLARE @resource nvarchar(64) = CONVERT(nvarchar(64), HASHBYTES('SHA2_256', CONCAT(CAST(@p1 AS nvarchar(255)), NCHAR(31), CAST(@p2 AS nvarchar(255)))), 2), @got int;
EXEC @got = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 30000;
SELECT @got;`
)

// aggregatesOf are the aggregates of the events, each once, in one order for all writers.
func aggregatesOf(events []Event) [][2]string {
	aggregates := make([][2]string, 0, len(events))
	for i := range events {
		if e := &events[i]; e.AggregateID != "" {
			aggregates = append(aggregates, [2]string{e.AggregateType, e.AggregateID})
		}
	}
	slices.SortFunc(aggregates, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	return slices.Compact(aggregates)
}

// lock locks the aggregates of the events. SQLite needs no lock: it has one writer at a time, and a seq is drawn by the
// one who writes.
func (w *Writer) lock(ctx context.Context, tx Tx, events []Event) error {
	aggregates := aggregatesOf(events)
	switch {
	case len(aggregates) == 0 || w.engine == SQLite:
		return nil
	case w.engine == MySQL:
		slots := map[uint32]struct{}{}
		var args []any
		for _, a := range aggregates {
			slot := crc32.ChecksumIEEE([]byte(a[0]+"\x1f"+a[1])) & 1023
			if _, twice := slots[slot]; !twice {
				slots[slot], args = struct{}{}, append(args, slot)
			}
		}
		places := strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")
		_, locked, err := query(ctx, tx, strings.Replace(lockMySQL, "%s", places, 1), args...)
		if err == nil && locked < len(args) {
			err = errNoSlots
		}
		return err
	}
	statement := lockPostgres
	if w.engine == SQLServer {
		statement = lockServer
	}
	for _, a := range aggregates {
		got, _, err := query(ctx, tx, statement, a[0], a[1])
		if err != nil {
			return err
		}
		if w.engine == SQLServer && got < 0 {
			return errNotLocked
		}
	}
	return nil
}

// query runs a statement to its end and returns the number in the last row, where there is one, and how many rows there
// were.
func query(ctx context.Context, tx Tx, statement string, args ...any) (n, count int, err error) {
	rows, err := tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	for rows.Next() {
		var value any
		if err := rows.Scan(&value); err != nil {
			return 0, 0, err
		}
		if number, ok := value.(int64); ok {
			n = int(number)
		}
		count++
	}
	return n, count, rows.Err()
}
