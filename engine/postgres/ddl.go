package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// ExactColumn are the statements that give a table what exact needs: a column that holds the last writer's transaction,
// by a default for the rows that are there and a trigger for every write, and an index on it and the key.
//
// The trigger is BEFORE: it sets the column in the very version of the row that is written. An AFTER trigger would have
// to update each row once more. It sets the column whatever the statement says, so that no application carries an old
// value along, nor an INSERT … SELECT * from an archive; within a savepoint the id is the whole transaction's. It
// fires for logical replication, too (ENABLE ALWAYS).
//
// ADD COLUMN evaluates this default once, so that the table is not rewritten: every old row has the transaction of the
// ALTER. That is why a poller without a position first reads all rows by key. The lock is short, but waits for, and
// holds up, whoever uses the table. The index is made beside the writers, outside of any transaction; PostgreSQL does
// not do that for a partitioned table.
func ExactColumn(t *engine.Table, column string, key []string) []string {
	from, plain := t.From, plainName(t.Name)
	quoted := []string{quote(column)}
	for _, k := range key {
		quoted = append(quoted, quote(k))
	}
	function := quote("rowrelay_" + plain + "_xid")
	if parts, err := engine.SplitName(from); err == nil && len(parts) == 2 {
		function = quote(parts[0]) + "." + function
	}
	concurrently := "CONCURRENTLY "
	if t.Partitioned {
		concurrently = ""
	}
	return []string{
		"CREATE FUNCTION " + function + "() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n\tNEW." + quote(column) +
			" := pg_current_xact_id();\n\tRETURN NEW;\nEND $$",
		"ALTER TABLE " + from + " ADD COLUMN " + quote(column) + " xid8 NOT NULL DEFAULT pg_current_xact_id()",
		"CREATE TRIGGER " + quote("rowrelay_"+plain+"_xid") + " BEFORE INSERT OR UPDATE ON " + from +
			" FOR EACH ROW EXECUTE FUNCTION " + function + "()",
		"ALTER TABLE " + from + " ENABLE ALWAYS TRIGGER " + quote("rowrelay_"+plain+"_xid"),
		"CREATE INDEX " + concurrently + quote("ix_"+plain+"_xid") + " ON " + from + " (" + strings.Join(quoted, ", ") + ")",
	}
}

// plainName is a table's name as a part of others: without what looks odd there, and short enough for what is added.
// The names of two tables stay two.
func plainName(name string) string {
	odd := 0
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`. "'`, r) {
			odd++
			return '_'
		}
		return r
	}, name)
	if len(plain) <= 40 && odd <= 1 { // the one between schema and table
		return plain
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(plain[:min(len(plain), 31)], "") + "_" + hex.EncodeToString(sum[:4])
}

// transactionColumn is the column that makes a table readable exactly.
const transactionColumn = "rowrelay_xid"

// exactText are the statements that add it, for people.
func exactText(t *engine.Table, key []string) string {
	if t.NoTransactions {
		return "-- PostgreSQL before version 13 has no type xid8: exact takes an upgrade. Until then source__late_commits=overlap is safe.\n"
	}
	return "-- The column holds the transaction that wrote a row last. Then set source__cursor=" + transactionColumn +
		".\n" +
		strings.Join(ExactColumn(t, transactionColumn, key), ";\n") + ";\n"
}

// transactionsSQL tells of a table's xid8 columns whether the default, and row triggers before inserts and before
// updates, mention pg_current_xact_id(): all that can be told without running them. A trigger with a list of columns,
// or with a WHEN, does not see every write, and what a subscription writes only one that is ENABLE ALWAYS.
const transactionsSQL = `SELECT a.attname, coalesce(pg_get_expr(d.adbin, d.adrelid), '') LIKE '%pg_current_xact_id%',
	g.writes & 4 <> 0, g.writes & 16 <> 0
FROM pg_catalog.pg_attribute a CROSS JOIN (SELECT coalesce(bit_or(t.tgtype), 0)::int AS writes
	FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc f ON f.oid = t.tgfoid
	WHERE t.tgrelid = $1::text::oid AND (NOT t.tgisinternal OR t.tgparentid <> 0) ` +
	`AND (t.tgenabled = 'A' OR t.tgenabled = 'O' AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_subscription_rel r
		WHERE r.srrelid = t.tgrelid)) AND t.tgtype & 3 = 3
	AND t.tgattr::text = '' AND t.tgqual IS NULL AND f.prosrc ILIKE '%pg_current_xact_id%') AS g
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::text::oid AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = 'xid8'::regtype`

// warnTransactions gives a table's xid8 columns a warning, for when one is the cursor, where nothing seems to set it.
func (Dialect) warnTransactions(ctx context.Context, conn *sql.Conn, oid string, columns []engine.Column) error {
	missing := map[string]string{}
	err := engine.EachRow(ctx, conn, transactionsSQL, []any{oid}, func(scan func(...any) error) error {
		var name string
		var byDefault, inserts, updates bool
		if err := scan(&name, &byDefault, &inserts, &updates); err != nil {
			return err
		}
		switch {
		case inserts && updates:
		case updates && byDefault:
			missing[name] = "is not set by a trigger BEFORE INSERT that says pg_current_xact_id(), without a list of columns, without WHEN, and in a table that a subscription writes ENABLE ALWAYS: " +
				"a row that an INSERT or COPY brings with a value of its own (from an archive, say) is lost or comes late"
		case byDefault || inserts:
			missing[name] = "is not set by a trigger BEFORE UPDATE that says pg_current_xact_id(), without a list of columns, without WHEN, and in a table that a subscription writes ENABLE ALWAYS: updates are not seen"
		default:
			missing[name] = "has neither the default pg_current_xact_id() nor a trigger that sets it: what other values it has, is lost or comes late"
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what sets the columns of transactions: %w", err)
	}
	for i := range columns {
		if why := missing[columns[i].Name]; why != "" {
			columns[i].Value.CursorWarning = why + "; make the column as `rowrelay check --ddl` shows it for a table without one"
		}
	}
	return nil
}
