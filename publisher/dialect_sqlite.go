package publisher

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sqlite is SQLite 3.38 and later. A transaction begins immediate: it is the only writer from its beginning, so that nothing
// has to be locked. Instants are text, to a millisecond: the clock shows no more.
type sqlite struct{}

const sqliteTime = "'%Y-%m-%d %H:%M:%f'"

func (sqlite) engine() string { return "sqlite" }

func (sqlite) quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (sqlite) placeholder(n int) string { return "?" + strconv.Itoa(n) }

func (sqlite) seq() string { return "seq" }

func (sqlite) now() string { return "strftime(" + sqliteTime + ", 'now')" }

func (sqlite) later(ms string) string {
	return "strftime(" + sqliteTime + ", 'now', printf('%+.3f seconds', (" + ms + ") / 1000.0))"
}

func (sqlite) earlier(ms string) string {
	return "strftime(" + sqliteTime + ", 'now', printf('%+.3f seconds', (" + ms + ") / -1000.0))"
}

func (sqlite) age(at string) string {
	return "CAST(round((julianday('now') - julianday(" + at + ")) * 86400000) AS INTEGER)"
}

func (sqlite) limit(n string) string { return " LIMIT " + n }

func (sqlite) same(typ1, id1, typ2, id2 string) string {
	return typ1 + " = " + typ2 + " AND " + id1 + " = " + id2
}

func (sqlite) bytes(column string) string { return "length(CAST(" + column + " AS BLOB))" }

// unit is the aggregate itself: SQLite has no hash, and no limit to the length of a key.
func (sqlite) unit(typ, id string) string {
	return "('a:' || length(" + typ + ") || ':' || " + typ + " || ':' || " + id + ")"
}

func (sqlite) aggregateUnit(a aggregate) string {
	return "a:" + strconv.Itoa(utf8.RuneCountInString(a.typ)) + ":" + a.typ + ":" + a.id
}

func (sqlite) anyInt(s *statement, expr string, list []int64) string { return anyJSON(s, expr, list) }

func (sqlite) anyText(s *statement, expr string, list []string) string { return anyJSON(s, expr, list) }

func anyJSON[T int64 | string](s *statement, expr string, list []T) string {
	return expr + " IN (SELECT value FROM json_each(" + s.arg(jsonList(list)) + "))"
}

func jsonList[T int64 | string](list []T) string {
	data, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("publisher: a list of plain values does not encode: %v", err))
	}
	return string(data)
}

func (sqlite) rows(param, alias string, columns []jsonColumn) string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		fields[i] = "json_extract(value, '$." + c.name + "') AS " + c.name
	}
	return "(SELECT " + strings.Join(fields, ", ") + " FROM json_each(" + param + ")) AS " + alias
}

func (sqlite) lock(bool) (hint, suffix string) { return "", "" }

func (sqlite) update(table, alias, set, from, where string) string {
	return "UPDATE " + table + " AS " + alias + " SET " + set + " FROM " + from + " WHERE " + where
}

func (sqlite) bySeq(s *statement, table name, set func() string, seqs []int64) {
	bySeqList(s, table, set, seqs)
}

func (sqlite) seek(_, _ string) string { return "" }

func (sqlite) force(string) string { return "" }

func (sqlite) byState() bool { return false }

func (sqlite) orderly(alias, bucket, seq string) string {
	return "(" + alias + ".bucket, " + alias + ".seq) > (" + bucket + ", " + seq + ")"
}

func (sqlite) claimInTx() bool { return false }

func (sqlite) draw(ctx context.Context, q querier, t *sqlTable, outbox string) (uint64, error) {
	return onConflictDraw(ctx, q, t, outbox)
}

func (sqlite) take(ctx context.Context, q querier, t *sqlTable, outbox string, c claim, units []unitInfo, member string) ([]string, error) {
	s := t.statement()
	onConflictTake(s, t, outbox, c, units, " WHERE true") // without it ON would belong to the SELECT
	taken, err := s.units(ctx, q)
	if err != nil || member == "" {
		return taken, err
	}
	return t.andMember(ctx, q, outbox, c.owner, taken, member)
}

func (sqlite) byUnit(s *statement, t *sqlTable, verb string, set func() string, outbox string, units []string) {
	byUnitList(s, t, verb, set, outbox, units)
}

func (sqlite) put(ctx context.Context, q querier, t *sqlTable, outbox, unit, owner string, token uint64, ms int64, info string) error {
	return onConflictPut(ctx, q, t, outbox, unit, owner, token, ms, info)
}

func (d sqlite) resolve(ctx context.Context, q querier, parts []string) (string, error) {
	master := "sqlite_master"
	if len(parts) > 1 {
		master = d.quote(parts[len(parts)-2]) + "." + master
	}
	var table string
	err := q.QueryRowContext(ctx, "SELECT name FROM "+master+" WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE", parts[len(parts)-1]).Scan(&table)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name{d, parts}, err)
	}
	return table, nil
}
