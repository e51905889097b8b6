package publisher

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// mySQL is MySQL 8.0.17 and MariaDB 10.6 and later, with the session of engine.Connection.WriteDB: UTC, READ COMMITTED.
type mySQL struct{}

// mysqlExact is a collation that compares byte by byte, trailing blanks included; each family has its own name for it, and reads
// the other's comment as a comment.
const mysqlExact = "/*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */"

func (mySQL) engine() string { return "mysql" }

func (mySQL) quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (mySQL) placeholder(int) string { return "?" }

func (mySQL) seq() string { return "id" }

func (mySQL) now() string { return "UTC_TIMESTAMP(6)" }

func (mySQL) later(ms string) string {
	return "UTC_TIMESTAMP(6) + INTERVAL (" + ms + ") * 1000 MICROSECOND"
}

func (mySQL) earlier(ms string) string {
	return "UTC_TIMESTAMP(6) - INTERVAL (" + ms + ") * 1000 MICROSECOND"
}

func (mySQL) age(at string) string {
	return "TIMESTAMPDIFF(MICROSECOND, " + at + ", UTC_TIMESTAMP(6)) DIV 1000"
}

func (mySQL) limit(n string) string { return " LIMIT " + n }

func (mySQL) same(typ1, id1, typ2, id2 string) string {
	return typ1 + " = " + typ2 + " " + mysqlExact + " AND " + id1 + " = " + id2 + " " + mysqlExact
}

func (mySQL) bytes(column string) string { return "OCTET_LENGTH(" + column + ")" }

func (mySQL) unit(typ, id string) string { return "CONCAT('a:', MD5(" + typ + "), MD5(" + id + "))" }

func (mySQL) aggregateUnit(a aggregate) string { return hashedUnit([]byte(a.typ), []byte(a.id)) }

// anyInt writes the numbers out: what the driver would do with parameters, too.
func (mySQL) anyInt(_ *statement, expr string, list []int64) string {
	if len(list) == 0 {
		return "1 = 0"
	}
	var b strings.Builder
	b.WriteString(expr + " IN (")
	for i, n := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	b.WriteByte(')')
	return b.String()
}

func (mySQL) anyText(s *statement, expr string, list []string) string {
	if len(list) == 0 {
		return "1 = 0"
	}
	marks := make([]string, len(list))
	for i, text := range list {
		marks[i] = s.arg(text)
	}
	return expr + " IN (" + strings.Join(marks, ", ") + ")"
}

func (mySQL) rows(param, alias string, columns []jsonColumn) string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		typ := "BIGINT"
		if c.text {
			typ = "VARCHAR(1000) CHARACTER SET utf8mb4"
		}
		fields[i] = c.name + " " + typ + " PATH '$." + c.name + "'"
	}
	return "JSON_TABLE(" + param + ", '$[*]' COLUMNS (" + strings.Join(fields, ", ") + ")) AS " + alias
}

func (mySQL) lock(skip bool) (hint, suffix string) {
	if skip {
		return "", " FOR UPDATE SKIP LOCKED"
	}
	return "", " FOR UPDATE"
}

func (mySQL) update(table, alias, set, from, where string) string {
	return "UPDATE " + table + " AS " + alias + " JOIN " + from + " ON " + where + " SET " + set
}

func (mySQL) bySeq(s *statement, table name, set func() string, seqs []int64) {
	bySeqList(s, table, set, seqs)
}

// seek goes by the column that holds the aggregate's id while an event is in the way or waits, and is NULL otherwise: MySQL has
// no partial indexes.
func (mySQL) seek(b, id string) string { return b + ".blocked = " + id + " " + mysqlExact + " AND " }

// force keeps MariaDB, whose statistics know nothing of a state that many events have just got, from reading the table.
func (mySQL) force(index string) string { return " FORCE INDEX (rowrelay_" + index + ")" }

func (mySQL) byState() bool { return true }

// orderly: MariaDB does not search an index by row values.
func (mySQL) orderly(_, _, _ string) string { return "" }

func (mySQL) claimInTx() bool { return true }

func (d mySQL) draw(ctx context.Context, q querier, t *sqlTable, outbox string) (uint64, error) {
	s := t.statement()
	s.add("INSERT INTO ", t.claims.String(), " (outbox, unit, owner, token, expires_at) VALUES (", s.arg(outbox), ", '*', '', 1, ", d.now(),
		") ON DUPLICATE KEY UPDATE token = token + 1")
	if _, err := s.exec(ctx, q); err != nil {
		return 0, err
	}
	s = t.statement()
	s.add("SELECT token FROM ", t.claims.String(), " WHERE outbox = ", s.arg(outbox), " AND unit = '*'") // the row is locked by now
	var token uint64
	err := s.row(ctx, q, &token)
	return token, err
}

// take inserts or replaces the claims in one statement, and reads back which of them are the owner's now. A token is drawn for
// each attempt, so that what was taken under it before is of this attempt, too: the answer to that was lost.
// Assignments are made from left to right: expires_at, which decides, is the last.
func (d mySQL) take(ctx context.Context, q querier, t *sqlTable, outbox string, c claim, units []unitInfo, member string) ([]string, error) {
	wanted := make([]string, len(units))
	for i, u := range units {
		wanted[i] = u.unit
	}
	s := t.statement()
	d.takeStatement(s, t, outbox, c, units)
	if _, err := s.exec(ctx, q); err != nil {
		return nil, err
	}
	if member != "" {
		return d.mineAlive(ctx, q, t, outbox, c, wanted, member)
	}
	return d.mine(ctx, q, t, outbox, c, wanted)
}

func (d mySQL) takeStatement(s *statement, t *sqlTable, outbox string, c claim, units []unitInfo) {
	free := func(column string) string {
		return column + " = IF(c.expires_at <= " + d.now() + ", VALUES(" + column + "), c." + column + ")"
	}
	s.add("INSERT INTO ", t.claims.String(), " (outbox, unit, owner, token, expires_at, info) SELECT n.* FROM (SELECT ", s.arg(outbox), " AS outbox, r.unit, ",
		s.arg(c.owner), " AS owner, ", s.arg(c.token), " AS token, ", d.later(s.arg(c.ttl.Milliseconds())), " AS expires_at, r.info FROM ",
		s.rows("r", unitColumns, jsonUnits(units)), " ORDER BY r.unit) n ON DUPLICATE KEY UPDATE ",
		strings.ReplaceAll(strings.Join([]string{free("owner"), free("token"), free("info"), free("expires_at")}, ", "), "c.", t.claims.String()+"."))
}

func (d mySQL) mine(ctx context.Context, q querier, t *sqlTable, outbox string, c claim, units []string) ([]string, error) {
	s := t.statement()
	s.add("SELECT unit FROM ", t.claims.String(), " WHERE outbox = ", s.arg(outbox), " AND owner = ", s.arg(c.owner), " AND token = ", s.arg(c.token),
		" AND expires_at > ", d.now(), " AND ", d.anyText(s, "unit", units))
	return s.units(ctx, q)
}

// mineAlive is mine together with the lock of the member's row. Those of the units are locked already, by the INSERT, whoever
// has them.
func (d mySQL) mineAlive(ctx context.Context, q querier, t *sqlTable, outbox string, c claim, units []string, member string) ([]string, error) {
	_, suffix := d.lock(false)
	s := t.statement()
	d.byUnit(s, t, "SELECT", nil, outbox, append(units, member))
	s.add(" AND c.owner = ", s.arg(c.owner), " AND (c.token = ", s.arg(c.token), " OR c.unit = ", s.arg(member), ") AND c.expires_at > ", d.now(),
		" ORDER BY c.unit", suffix)
	return s.units(ctx, q)
}

// byUnit reads the list first and seeks each unit's row: the optimizer may take a list in IN for a reason to scan.
func (d mySQL) byUnit(s *statement, t *sqlTable, verb string, set func() string, outbox string, units []string) {
	from := func() {
		s.add(s.rows("r", unitColumns, jsonUnits(named(units))), " STRAIGHT_JOIN ", t.claims.String(), " c ON c.outbox = ", s.arg(outbox),
			" AND c.unit = r.unit ", mysqlExact)
	}
	switch verb {
	case "SELECT":
		s.add("SELECT c.unit FROM ")
		from()
	case "DELETE":
		s.add("DELETE c FROM ")
		from()
	default:
		s.add("UPDATE ")
		from()
		s.add(" SET ", set())
	}
	s.add(" WHERE 1 = 1")
}

func (d mySQL) put(ctx context.Context, q querier, t *sqlTable, outbox, unit, owner string, token uint64, ms int64, info string) error {
	s := t.statement()
	s.add("INSERT INTO ", t.claims.String(), " (outbox, unit, owner, token, expires_at, info) VALUES (", s.arg(outbox), ", ", s.arg(unit), ", ",
		s.arg(owner), ", ", s.arg(token), ", ", d.later(s.arg(ms)), ", ", s.arg(info), ")",
		" ON DUPLICATE KEY UPDATE owner = VALUES(owner), token = VALUES(token), expires_at = VALUES(expires_at), info = VALUES(info)")
	_, err := s.exec(ctx, q)
	return err
}

func (d mySQL) resolve(ctx context.Context, q querier, parts []string) (string, error) {
	var schema, table string
	text, args := "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", []any{parts[len(parts)-1]}
	if len(parts) > 1 {
		text = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
		args = []any{parts[len(parts)-2], parts[len(parts)-1]}
	}
	err := q.QueryRowContext(ctx, text, args...).Scan(&schema, &table)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name{d, parts}, err)
	}
	return schema + "." + table, nil
}
