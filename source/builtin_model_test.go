package source_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

// tracked models what SQL Server's documentation says of change tracking, for the table dbo.orders (id, v): no server
// runs here. It answers the statements of a source, which it tells apart by their texts, and does not run them.
type tracked struct {
	rows    map[int64]int64
	log     []written
	current int64 // the version of the last commit
	valid   int64 // CHANGE_TRACKING_MIN_VALID_VERSION
	begin   int64 // of the tracking
	object  int64
	made    int  // when the tracking's own table was made
	off     bool // for the table
	columns bool // which writes count is asked for
	// context is that of one's own writes, where they are left out. states are, of each key, what it was since another's
	// last write, and others the version of that.
	context bool
	states  map[int64][]string
	others  map[int64]int64

	// meanwhile is run once, between what a page's transaction asks for: after the version, and after the changes.
	meanwhile [2]func()
	asked     []string // what was asked: "idle", "changes", "keys", "how far"
	invalid   int      // how often changes were asked for after a version of which the server says that it is too old
}

type written struct {
	version, id int64
	op          byte
	own         bool
	others      int64 // what one's own says of others
}

func newTracked() *tracked {
	return &tracked{rows: map[int64]int64{}, object: 7, states: map[int64][]string{}, others: map[int64]int64{}}
}

// commit does the work of one transaction: "i 1 5" and "u 1 6" write a row, "n 1" another column of it, "d 1" deletes
// it; "own i 1 5" and so on under the context of one's own writes, "bare …" without saying what others have done.
func (m *tracked) commit(work ...string) {
	m.current++
	for _, text := range work {
		var op byte
		var id, v int64
		text, own := strings.CutPrefix(text, "own ")
		text = strings.TrimPrefix(text, "bare ")
		_, _ = fmt.Sscanf(text+" 0", "%c %d %d", &op, &id, &v)
		switch op {
		case 'd':
			delete(m.rows, id)
		case 'i', 'u':
			m.rows[id] = v
		}
		if !own {
			m.others[id], m.states[id] = m.current, nil
		}
		state := ""
		if v, there := m.rows[id]; there {
			state = strconv.FormatInt(v, 10)
		}
		m.states[id] = append(m.states[id], state)
		m.log = append(m.log, written{m.current, id, op, own, m.others[id]})
	}
}

// clean removes what is retained no longer.
func (m *tracked) clean(upTo int64) {
	m.valid = upTo
	m.log = slices.DeleteFunc(m.log, func(w written) bool { return w.version <= upTo })
}

func (m *tracked) again() {
	m.begin, m.valid, m.log = m.current, m.current, nil
	m.made++
}

// changes is CHANGETABLE(CHANGES …) joined with the table: id, v, version, created, present, and where it is asked for
// the version where v is in the mask of columns that were written.
func (m *tracked) changes(since int64) [][]driver.Value {
	last, created, touched := map[int64]int64{}, map[int64]int64{}, map[int64]bool{}
	counts := map[int64]int64{}
	for _, w := range m.log {
		if w.version > since {
			last[w.id] = w.version
			touched[w.id] = touched[w.id] || w.op != 'n'
			if w.op == 'i' {
				created[w.id] = w.version
			}
			counts[w.id] = w.version
			if w.own {
				counts[w.id] = w.others
			}
		}
	}
	var rows [][]driver.Value
	for id, version := range last {
		row := m.row(id, version, created[id])
		if m.columns && touched[id] {
			row[5] = version
		}
		if m.context {
			row[5] = counts[id]
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b []driver.Value) int {
		return int(2*(a[2].(int64)-b[2].(int64)) + min(max(a[0].(int64)-b[0].(int64), -1), 1))
	})
	return rows
}

func (m *tracked) row(id, version, created int64) []driver.Value {
	row := []driver.Value{id, nil, version, created, nil}
	if v, there := m.rows[id]; there {
		row[1], row[4] = v, id
	}
	if m.columns {
		row = append(row, int64(0))
	}
	return row
}

func (m *tracked) told(head int64) string {
	if m.off {
		return fmt.Sprintf("%d||", head)
	}
	return fmt.Sprintf("%d|%d|object %d/%d/%d", head, m.valid, m.object, m.begin, m.made)
}

var topOf = regexp.MustCompile(`TOP \((\d+)\)`)

func (m *tracked) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	switch {
	case strings.HasPrefix(text, "SET XACT_ABORT ON;") && strings.Contains(text, "CHANGETABLE(VERSION"):
		return m.chunk(text, args)
	case strings.HasPrefix(text, "SELECT COUNT_BIG(*)"):
		return &answer{rows: [][]driver.Value{{int64(len(m.rows))}}}, nil
	case strings.HasPrefix(text, "SELECT TOP (1) r.[id]\nFROM [dbo].[orders] AS r\nORDER BY r.[id] DESC"):
		if len(m.rows) == 0 {
			return &answer{}, nil
		}
		return &answer{rows: [][]driver.Value{{slices.Max(slices.Collect(maps.Keys(m.rows)))}}}, nil
	case strings.Contains(text, "CHANGETABLE(VERSION"):
		m.asked = append(m.asked, "keys")
		var rows [][]driver.Value
		for _, a := range args {
			version := int64(0)
			for _, w := range m.log {
				if w.id == a.Value.(int64) {
					version = w.version
				}
			}
			rows = append(rows, m.row(a.Value.(int64), version, 0))
		}
		return &answer{rows: rows}, nil
	case strings.HasPrefix(text, "SELECT CONCAT"):
		m.asked = append(m.asked, "how far")
		return &answer{rows: [][]driver.Value{{m.told(m.current)}}}, nil
	case strings.HasPrefix(text, "SELECT TOP (1) "): // proves that changes can be read
		return &answer{}, nil
	case !strings.HasPrefix(text, "SET XACT_ABORT ON;\nSET TRANSACTION ISOLATION LEVEL SNAPSHOT;\nBEGIN TRANSACTION;"):
		return nil, errors.New("not to be asked: " + text)
	}
	page, err := m.page(text, args)
	if err == nil && strings.Contains(text, "SELECT COUNT_BIG(*)\nFROM (SELECT TOP") {
		page.rows = [][]driver.Value{{int64(len(page.rows))}}
	}
	return page, err
}

// page answers as the parts of the transaction do, one after the other.
func (m *tracked) page(text string, args []driver.NamedValue) (*answer, error) {
	var at []int64
	named := map[string]any{}
	head := m.current
	until := int64(math.MaxInt64)
	for _, a := range args {
		switch {
		case a.Name != "":
			named[a.Name] = a.Value
		case len(named) > 0:
			until = a.Value.(int64)
		default:
			at = append(at, a.Value.(int64))
		}
	}
	limit, err := strconv.ParseInt(topOf.FindStringSubmatch(text)[1], 10, 64)
	if err != nil {
		return nil, err
	}
	m.once(0)
	since := named["since"].(int64)
	if strings.Contains(text, "SET @since = CHANGE_TRACKING_MIN_VALID_VERSION(") {
		since = max(since, m.valid)
	}
	var rows [][]driver.Value
	if head > named["read"].(int64) {
		if m.off {
			return nil, mssql.Error{Number: 22105, Message: "Change tracking is not enabled on table 'dbo.orders'."}
		}
		m.asked = append(m.asked, "changes")
		if since < m.valid {
			m.invalid++
		}
		for _, r := range m.changes(since) {
			version, id := r[2].(int64), r[0].(int64)
			after := len(at) == 0 || version > at[0] || len(at) == 2 && version == at[0] && id > at[1]
			if after && version <= until && int64(len(rows)) < limit {
				rows = append(rows, r)
			}
		}
	} else {
		m.asked = append(m.asked, "idle")
	}
	m.once(1)
	told, into := m.told(head), named["told"].(sql.Out).Dest.(*string)
	return &answer{rows: rows, end: func() { *into = told }}, nil // it comes after the last row
}

// chunk answers a chunk of the table: up to the last parameter, after the one before it.
func (m *tracked) chunk(text string, args []driver.NamedValue) (driver.Rows, error) {
	limit, err := strconv.Atoi(topOf.FindStringSubmatch(text)[1])
	if err != nil {
		return nil, err
	}
	m.asked = append(m.asked, "chunk")
	var into *string
	var bounds []int64
	for _, a := range args {
		if out, is := a.Value.(sql.Out); is {
			into = out.Dest.(*string)
		} else if a.Name == "" {
			bounds = append(bounds, a.Value.(int64))
		}
	}
	var rows [][]driver.Value
	for _, id := range slices.Sorted(maps.Keys(m.rows)) {
		if id > bounds[len(bounds)-1] || len(bounds) > 1 && id <= bounds[0] || len(rows) == limit {
			continue
		}
		version := int64(0)
		for _, w := range m.log {
			if w.id == id {
				version = w.version
			}
		}
		rows = append(rows, m.row(id, version, 0))
	}
	told := m.told(m.current)
	return &answer{rows: rows, end: func() { *into = told }}, nil
}

func (m *tracked) once(n int) {
	if do := m.meanwhile[n]; do != nil {
		m.meanwhile[n] = nil
		do()
	}
}

// answer is a result's rows.
type answer struct {
	rows [][]driver.Value
	end  func() // it was read to its end
}

func (a *answer) Columns() []string {
	if len(a.rows) == 0 {
		return nil
	}
	return make([]string, len(a.rows[0]))
}
func (a *answer) Close() error { return nil }
func (a *answer) Next(into []driver.Value) error {
	if len(a.rows) == 0 {
		if a.end != nil {
			a.end()
		}
		return io.EOF
	}
	copy(into, a.rows[0])
	a.rows = a.rows[1:]
	return nil
}

func (m *tracked) Connect(context.Context) (driver.Conn, error) { return m, nil }
func (m *tracked) Driver() driver.Driver                        { return nil }
func (m *tracked) Prepare(string) (driver.Stmt, error)          { panic("not used") }
func (m *tracked) Begin() (driver.Tx, error)                    { panic("not used") }
func (m *tracked) Close() error                                 { return nil }
func (m *tracked) CheckNamedValue(*driver.NamedValue) error     { return nil }

// trackedDialect is SQL Server's, but for what asks the catalog.
type trackedDialect struct {
	sqlserver.Dialect
	of *tracked
}

func (d trackedDialect) Syntax() engine.Syntax {
	s := d.Dialect.Syntax()
	own := *s.Tracking
	own.Faults = func(context.Context, *sql.Conn, *engine.ChangeTable) (faults []string, err error) {
		if d.of.off {
			faults = append(faults, "it is off")
		}
		return faults, nil
	}
	s.Tracking = &own
	return s
}

func (trackedDialect) Prepare(context.Context, *sql.Conn, engine.Settings) (engine.Server, error) {
	return engine.Server{Incarnation: "sqlserver/1"}, nil
}

func (trackedDialect) Table(context.Context, *sql.Conn, []string) (engine.Table, error) {
	value := sqlserver.Type{Base: "bigint"}.Value()
	return engine.Table{Name: "dbo.orders", From: "[dbo].[orders]", PrimaryKey: []string{"id"}, Columns: []engine.Column{
		{Name: "id", Type: "bigint", Value: value}, {Name: "v", Type: "bigint", Nullable: true, Value: value}}}, nil
}
