package source

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// postgresDDL are the statements that give a table what exact needs: a column that holds the last writer's transaction, by
// a default for inserts and a trigger for updates, and an index on it and the key. name is the table's for people, from
// as it stands in statements.
//
// The trigger is BEFORE UPDATE: it sets the column in the very version of the row that the update writes. An AFTER trigger
// would have to update each row once more. It sets the column whatever the statement says, so that no application
// carries an old value along; within a savepoint the id is the whole transaction's.
//
// ADD COLUMN evaluates this default once, so that the table is not rewritten: every old row has the transaction of the
// ALTER. That is why a poller without a position first reads all rows by key. The lock is short, but waits for, and holds
// up, whoever uses the table. The index is made beside the writers, outside of any transaction.
func postgresDDL(name, from, column string, key []string) []string {
	d := postgres{}
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`. "'`, r) {
			return '_'
		}
		return r
	}, name)
	if len(plain) > 40 {
		plain = strings.ToValidUTF8(plain[:40], "")
	}
	quoted := []string{d.quote(column)}
	for _, k := range key {
		quoted = append(quoted, d.quote(k))
	}
	function := d.quote("rowrelay_" + plain + "_xid")
	if parts, err := splitName(from); err == nil && len(parts) == 2 {
		function = d.quote(parts[0]) + "." + function
	}
	return []string{
		"CREATE FUNCTION " + function + "() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n\tNEW." + d.quote(column) + " := pg_current_xact_id();\n\tRETURN NEW;\nEND $$",
		"ALTER TABLE " + from + " ADD COLUMN " + d.quote(column) + " xid8 NOT NULL DEFAULT pg_current_xact_id()",
		"CREATE TRIGGER " + d.quote("rowrelay_"+plain+"_xid") + " BEFORE UPDATE ON " + from + " FOR EACH ROW EXECUTE FUNCTION " + function + "()",
		"CREATE INDEX CONCURRENTLY " + d.quote("ix_"+plain+"_xid") + " ON " + from + " (" + strings.Join(quoted, ", ") + ")",
	}
}

// postgresTransactions tells of a table's xid8 columns whether the default, and a row trigger before updates, mention
// pg_current_xact_id(): all that can be told without running them.
const postgresTransactions = `SELECT a.attname, coalesce(pg_get_expr(d.adbin, d.adrelid), '') LIKE '%pg_current_xact_id%',
	EXISTS (SELECT 1 FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc f ON f.oid = t.tgfoid
		WHERE t.tgrelid = a.attrelid AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgtype & 19 = 19
		AND f.prosrc ILIKE '%pg_current_xact_id%')
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::text::oid AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = 'xid8'::regtype`

// warnTransactions gives a table's xid8 columns a warning, for when one is the cursor, where nothing seems to set it.
func (postgres) warnTransactions(ctx context.Context, conn *sql.Conn, oid string, columns []column) error {
	missing := map[string]string{}
	err := eachRow(ctx, conn, postgresTransactions, []any{oid}, func(scan func(...any) error) error {
		var name string
		var byDefault, byTrigger bool
		if err := scan(&name, &byDefault, &byTrigger); err != nil {
			return err
		}
		switch {
		case !byTrigger && byDefault:
			missing[name] = "is not set by a trigger BEFORE UPDATE that says pg_current_xact_id(): updates are not seen"
		case !byTrigger:
			missing[name] = "has neither the default pg_current_xact_id() nor a trigger that sets it: what other values it has, is lost or comes late"
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what sets the columns of transactions: %w", err)
	}
	for i := range columns {
		if why := missing[columns[i].name]; why != "" {
			columns[i].value.cursorWarning = why + "; make the column as `rowrelay check --ddl` shows it for a table without one"
		}
	}
	return nil
}
