package demo

import (
	"fmt"
	"strings"
)

// Tables of the shop. In a database of somebody else's, the name must not meet a table that is there already.
const (
	ownTable   = "orders"
	guestTable = "rowrelay_demo_orders"
)

// columns are portable to every engine as they stand; only text differs.
const columns = `
	id          BIGINT NOT NULL PRIMARY KEY,
	customer    TEXT40 NOT NULL,
	item        TEXT40 NOT NULL,
	quantity    INT NOT NULL,
	status      TEXT40 NOT NULL,
	written_at  TEXT40 NOT NULL,
	version     BIGINT NOT NULL UNIQUE
`

// statements are what the shop says to its engine.
type statements struct {
	table                 string
	create, index, drop   string
	top, insert, update   string
	waiting, oldest, list string
}

func newStatements(engine string) (statements, error) {
	s := statements{table: guestTable}
	text := "VARCHAR(40)"
	mark := func(int) string { return "?" }
	ifMissing, ifThere := "CREATE TABLE IF NOT EXISTS ", "DROP TABLE IF EXISTS "
	switch engine {
	case "sqlite":
		s.table, text = ownTable, "TEXT"
		s.index = "CREATE INDEX IF NOT EXISTS orders_by_version ON orders (version, id)"
	case "postgres":
		mark = func(n int) string { return fmt.Sprintf("$%d", n) }
		s.index = "CREATE INDEX IF NOT EXISTS rowrelay_demo_by_version ON " + guestTable + " (version, id)"
	case "mysql": // its UNIQUE index holds the primary key already
	case "sqlserver":
		text = "NVARCHAR(40)"
		mark = func(n int) string { return fmt.Sprintf("@p%d", n) }
		// The clustered primary key is part of every other index here too.
		ifMissing = "IF OBJECT_ID(N'" + guestTable + "', N'U') IS NULL CREATE TABLE "
	default:
		return statements{}, fmt.Errorf("the demo knows no engine %q", engine)
	}
	s.create = ifMissing + s.table + " (" + strings.ReplaceAll(columns, "TEXT40", text) + ")"
	s.drop = ifThere + s.table
	s.top = "SELECT COALESCE(MAX(version), 0), COALESCE(MAX(id), 0) FROM " + s.table
	marks := make([]string, 7)
	for i := range marks {
		marks[i] = mark(i + 1)
	}
	s.insert = "INSERT INTO " + s.table + " (id, customer, item, quantity, status, written_at, version) VALUES (" +
		strings.Join(marks, ", ") + ")"
	s.update = fmt.Sprintf("UPDATE %s SET status = %s, written_at = %s, version = %s WHERE id = %s",
		s.table, mark(1), mark(2), mark(3), mark(4))
	s.waiting = "SELECT COUNT(*) FROM " + s.table + " WHERE version > " + mark(1)
	s.oldest = "SELECT COALESCE(MIN(written_at), '') FROM " + s.table + " WHERE version > " + mark(1)
	s.list = "SELECT version, id FROM " + s.table + " WHERE version <= " + mark(1) + " ORDER BY version"
	return s, nil
}
