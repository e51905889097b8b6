package publisher

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// postgres is PostgreSQL 12 and later.
type postgres struct{}

func (postgres) engine() string { return "postgres" }

func (postgres) quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (postgres) placeholder(n int) string { return "$" + strconv.Itoa(n) }

func (postgres) seq() string { return "seq" }

// now is not now(), which is the transaction's beginning: a claim may run out while the transaction waits for a lock. Nor is it
// clock_timestamp(), which no index can be searched by.
func (postgres) now() string { return "statement_timestamp()" }

func (d postgres) later(ms string) string {
	return d.now() + " + CAST(" + ms + " AS bigint) * interval '1 millisecond'"
}

func (d postgres) earlier(ms string) string {
	return d.now() + " - CAST(" + ms + " AS bigint) * interval '1 millisecond'"
}

func (d postgres) age(at string) string {
	return "CAST(EXTRACT(EPOCH FROM (" + d.now() + " - " + at + ")) * 1000 AS bigint)"
}

func (postgres) limit(n string) string { return " LIMIT " + n }

func (postgres) same(typ1, id1, typ2, id2 string) string {
	return typ1 + " = " + typ2 + " AND " + id1 + " = " + id2
}

// bytes does not read the value: a toasted one says its length in the row.
func (postgres) bytes(column string) string { return "octet_length(" + column + ")" }

func (postgres) unit(typ, id string) string { return "('a:' || md5(" + typ + ") || md5(" + id + "))" }

func (postgres) aggregateUnit(a aggregate) string { return hashedUnit([]byte(a.typ), []byte(a.id)) }

func (postgres) anyInt(s *statement, expr string, list []int64) string {
	return expr + " = ANY(CAST(" + s.arg(list) + " AS bigint[]))"
}

func (postgres) anyText(s *statement, expr string, list []string) string {
	return expr + " = ANY(CAST(" + s.arg(list) + " AS text[]))"
}

func (postgres) rows(param, alias string, columns []jsonColumn) string {
	defs := make([]string, len(columns))
	for i, c := range columns {
		defs[i] = c.name + " bigint"
		if c.text {
			defs[i] = c.name + " text"
		}
	}
	return "jsonb_to_recordset(CAST(" + param + " AS jsonb)) AS " + alias + "(" + strings.Join(defs, ", ") + ")"
}

func (postgres) lock(skip bool) (hint, suffix string) {
	if skip {
		return "", " FOR UPDATE SKIP LOCKED"
	}
	return "", " FOR UPDATE"
}

func (postgres) update(table, alias, set, from, where string) string {
	return "UPDATE " + table + " AS " + alias + " SET " + set + " FROM " + from + " WHERE " + where
}

func (postgres) bySeq(s *statement, table name, set func() string, seqs []int64) {
	bySeqList(s, table, set, seqs)
}

func (postgres) seek(_, _ string) string { return "" }

func (postgres) force(string) string { return "" }

func (postgres) byState() bool { return false }

func (postgres) orderly(alias, bucket, seq string) string {
	return "(" + alias + ".bucket, " + alias + ".seq) > (CAST(" + bucket + " AS integer), CAST(" + seq + " AS bigint))"
}

func (postgres) claimInTx() bool { return false }

func (postgres) draw(ctx context.Context, q querier, t *sqlTable, outbox string) (uint64, error) {
	return onConflictDraw(ctx, q, t, outbox)
}

func (postgres) take(ctx context.Context, q querier, t *sqlTable, outbox string, c claim, units []unitInfo, member string) ([]string, error) {
	s := t.statement()
	if member == "" {
		onConflictTake(s, t, outbox, c, units, "")
		return s.units(ctx, q)
	}
	s.add("WITH taken AS (")
	onConflictTake(s, t, outbox, c, units, "")
	s.add("), alive AS (")
	t.d.byUnit(s, t, "SELECT", nil, outbox, []string{member})
	s.add(" AND c.owner = ", s.arg(c.owner), " AND c.expires_at > ", t.d.now(), " FOR UPDATE) SELECT unit FROM taken UNION ALL SELECT unit FROM alive")
	return s.units(ctx, q)
}

func (postgres) byUnit(s *statement, t *sqlTable, verb string, set func() string, outbox string, units []string) {
	byUnitList(s, t, verb, set, outbox, units)
}

func (postgres) put(ctx context.Context, q querier, t *sqlTable, outbox, unit, owner string, token uint64, ms int64, info string) error {
	return onConflictPut(ctx, q, t, outbox, unit, owner, token, ms, info)
}

func (postgres) resolve(ctx context.Context, q querier, parts []string) (string, error) {
	n := name{postgres{}, parts}
	var schema, table string
	err := q.QueryRowContext(ctx, `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1)`, n.String()).Scan(&schema, &table)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", n, err)
	}
	return schema + "." + table, nil
}
