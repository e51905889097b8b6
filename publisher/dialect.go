package publisher

import (
	"context"
	"crypto/md5" //nolint:gosec // see hashedUnit
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// dialect is one engine: what is written differently there. It has no state. All instants are UTC and the database's own.
//
// Statements are put together by a statement (below) in the order of their text, so that engines with positional
// placeholders take the same arguments.
type dialect interface {
	engine() string
	// quote returns name as a quoted identifier.
	quote(name string) string
	// placeholder returns the n-th parameter, n from 1.
	placeholder(n int) string
	// seq names the column of the position in a table of `rowrelay outbox init`: MySQL allows no second counting column beside
	// the seed's id, so there it is id.
	seq() string
	// now is the clock at the statement; later is it plus an expression of milliseconds, earlier the same minus.
	now() string
	later(ms string) string
	earlier(ms string) string
	// age is how many milliseconds an instant lies back, as an integer; negative in the future.
	age(at string) string
	// limit stands behind ORDER BY, which must be there.
	limit(n string) string
	// same is that two aggregates, given as expressions of type and id, are one, byte by byte. The first one's are columns of an
	// outbox: an index over them can serve it.
	same(typ1, id1, typ2, id2 string) string
	// bytes is the length of a text column in bytes, or a little less, found without reading it where that is possible.
	bytes(column string) string
	// unit is the unit of the claims table for an aggregate, as an expression; aggregateUnit is the same in Go.
	unit(typ, id string) string
	aggregateUnit(a aggregate) string
	// anyInt and anyText are that an expression is one of a list, which is one parameter; MySQL writes the list out.
	anyInt(s *statement, expr string, list []int64) string
	anyText(s *statement, expr string, list []string) string
	// rows is a table expression over a parameter that holds a JSON array of objects.
	rows(param, alias string, columns []jsonColumn) string
	// lock makes a SELECT of one table lock its rows until the transaction ends: hint stands behind the table and its alias,
	// suffix at the end of the statement. skip leaves rows out that are locked already.
	lock(skip bool) (hint, suffix string)
	// update is UPDATE table AS alias with a join: of rows of `from`, where `where`.
	update(table, alias, set, from, where string) string
	// bySeq begins an UPDATE of rows of the outbox o by their numbers, up to conditions in WHERE. It looks at no other row.
	bySeq(s *statement, table name, set func() string, seqs []int64)
	// seek is a condition that makes the index of blocked rows serve a search for an aggregate; "" where the columns do.
	seek(b, id string) string
	// force stands behind a table's alias and names the index to be used ("pending" or "blocked") where the engine's own choice
	// is not to be relied on.
	force(index string) string
	// byState says that the index of pending events leads with the state, so that it serves every state.
	byState() bool
	// orderly is the condition that (bucket, seq) of an alias comes after two expressions,
	// where the bucket is known not to be smaller; "" where the engine does not seek by it.
	orderly(alias, bucket, seq string) string

	// draw counts the fencing token up, and take claims units, each in the transaction or connection q.
	draw(ctx context.Context, q querier, t *sqlTable, outbox string) (uint64, error)
	// take locks also the row of member until the transaction ends, after the units, and returns it among them where it is the
	// owner's and live; "" is none.
	take(ctx context.Context, q querier, t *sqlTable, outbox string, c claim, units []unitInfo, member string) ([]string, error)
	// claimInTx says that draw and take need a transaction: they read what they have written.
	claimInTx() bool
	// byUnit begins a statement (SELECT of their units, DELETE or UPDATE with set) on the claims c of units, up to conditions in
	// WHERE. It looks at no other row: MySQL and SQL Server lock what a statement looks at, and two that lock each other's claims
	// on the way to their own, each in an order of its own, deadlock.
	byUnit(s *statement, t *sqlTable, verb string, set func() string, outbox string, units []string)
	// put is an upsert of a claim's row whoever holds it (a member, a pause): owner, token, expiry and info are replaced.
	put(ctx context.Context, q querier, t *sqlTable, outbox, unit, owner string, token uint64, ms int64, info string) error

	// resolve finds a table by its parts; qualified is "" where there is none.
	resolve(ctx context.Context, q querier, parts []string) (qualified string, err error)
	// ddl returns the statements that create the outbox and the claims table.
	ddl(table, claims name) []string
}

// jsonColumn is a member of the objects in a rows parameter.
type jsonColumn struct {
	name string
	text bool // varchar(1000) at most; otherwise a bigint
}

// unitInfo is a unit to be claimed, with what people are told of it.
type unitInfo struct{ unit, info string }

var unitColumns = []jsonColumn{{"unit", true}, {"info", true}}

// named are units without a word about them.
func named(units []string) []unitInfo {
	list := make([]unitInfo, len(units))
	for i, unit := range units {
		list[i].unit = unit
	}
	return list
}

// jsonUnits are units for a rows parameter, sorted: two instances that claim several take the locks in one order.
func jsonUnits(units []unitInfo) any {
	type object struct {
		Unit string  `json:"unit"`
		Info *string `json:"info"`
	}
	list := make([]object, len(units))
	for i, u := range units {
		list[i].Unit = u.unit
		if u.info != "" {
			list[i].Info = &u.info
		}
	}
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(a.Unit, b.Unit) })
	return list
}

// hashedUnit is the unit of an aggregate by MD5 over its parts as the engine stores them: names of 255 characters each do not
// fit into a key. It tells aggregates apart; it keeps no secret.
func hashedUnit(typ, id []byte) string {
	t, i := md5.Sum(typ), md5.Sum(id) //nolint:gosec // not for security: every engine has it
	return "a:" + hex.EncodeToString(t[:]) + hex.EncodeToString(i[:])
}

// querier is a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func dialectFor(engine string) (dialect, error) {
	switch engine {
	case "postgres":
		return postgres{}, nil
	case "mysql":
		return mySQL{}, nil
	case "sqlite":
		return sqlite{}, nil
	case "sqlserver":
		return sqlServer{}, nil
	default:
		return nil, fmt.Errorf("%w: no outbox on engine %q", poller.ErrConfig, engine)
	}
}

// statement is one statement under construction: text and arguments grow together.
type statement struct {
	d    dialect
	text strings.Builder
	args []any
}

// add appends text; calls of arg among its parameters are evaluated from left to right, as the placeholders stand.
func (s *statement) add(parts ...string) *statement {
	for _, p := range parts {
		s.text.WriteString(p)
	}
	return s
}

// arg adds an argument and returns its placeholder.
func (s *statement) arg(v any) string {
	d, declares := s.d.(sqlServer)
	text, isText := v.(string)
	if declares && isText && fitsText(text) {
		return d.text(s.list(text))
	}
	return s.list(v)
}

// list is arg for a list, which may have any length.
func (s *statement) list(v any) string {
	if text, isText := v.(string); isText && s.d.engine() == "sqlserver" {
		v = mssql.NVarCharMax(text)
	}
	s.args = append(s.args, v)
	return s.d.placeholder(len(s.args))
}

// rows adds a JSON array and returns the table expression over it.
func (s *statement) rows(alias string, columns []jsonColumn, list any) string {
	data, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("publisher: a list of plain values does not encode: %v", err))
	}
	return s.d.rows(s.list(string(data)), alias, columns)
}

func (s *statement) exec(ctx context.Context, q querier) (int64, error) {
	res, err := q.ExecContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// row reads a result's first row, and the result to its end: a statement that changes what it shows can fail behind the
// row, and then has changed nothing.
func (s *statement) row(ctx context.Context, q querier, into ...any) error {
	first := true
	err := s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		if !first {
			return true, nil
		}
		first = false
		return true, scan(into...)
	})
	if err == nil && first {
		err = sql.ErrNoRows
	}
	return err
}

// units reads a result of one text column.
func (s *statement) units(ctx context.Context, q querier) ([]string, error) {
	var units []string
	err := s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		var unit string
		err := scan(&unit)
		units = append(units, unit)
		return true, err
	})
	return units, err
}

// ints reads a result of one integer column.
func (s *statement) ints(ctx context.Context, q querier) ([]int64, error) {
	var list []int64
	err := s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		var n int64
		err := scan(&n)
		list = append(list, n)
		return true, err
	})
	return list, err
}

// each calls scan for every row of the result.
func (s *statement) each(ctx context.Context, q querier, scan func(scan func(...any) error) (more bool, err error)) (err error) {
	rows, err := q.QueryContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for rows.Next() {
		if more, err := scan(rows.Scan); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// name is a table's name, its parts unquoted.
type name struct {
	d     dialect
	parts []string
}

func parseName(d dialect, setting, text string) (name, error) {
	parts, err := engine.SplitName(text)
	if err != nil {
		return name{}, fmt.Errorf("%w: %s %q is not the name of a table: %w", poller.ErrConfig, setting, text, err)
	}
	return name{d, parts}, nil
}

// String is the name as it stands in a statement.
func (n name) String() string {
	quoted := make([]string, len(n.parts))
	for i, p := range n.parts {
		quoted[i] = n.d.quote(p)
	}
	return strings.Join(quoted, ".")
}

// base is the last part, unquoted.
func (n name) base() string { return n.parts[len(n.parts)-1] }

// sayable is a text that every engine takes: valid UTF-8 without NUL.
func sayable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// beside returns other in the schema of n, unless it names one of its own.
func (n name) beside(other name) name {
	if len(other.parts) > 1 || len(n.parts) == 1 {
		return other
	}
	return name{n.d, append(append([]string{}, n.parts[:len(n.parts)-1]...), other.parts...)}
}
