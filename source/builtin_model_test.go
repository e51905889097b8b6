package source_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/changetest"
)

// tracked models what SQL Server's documentation says of change tracking, for the table dbo.orders (id, v): no server
// runs here. It answers the statements of a source, which it tells apart by their texts, and does not run them.
type tracked struct {
	*changetest.Table
	changetest.Conn
	begin   int64 // of the tracking
	object  int64
	made    int  // when the tracking's own table was made
	off     bool // for the table
	columns bool // which writes count is asked for
	context bool // that of one's own writes, where they are left out

	// meanwhile is run once, between what a page's transaction asks for: after the version, and after the changes.
	meanwhile [2]func()
	// during is run while a statement under READ COMMITTED reads; torn then says which of what there was is seen.
	during  func()
	torn    *rand.Rand
	asked   []string // what was asked: "idle", "changes", "keys", "how far"
	invalid int      // how often changes were asked for after a version of which the server says that it is too old
}

func newTracked() *tracked {
	return &tracked{Table: changetest.NewTable(), object: 7}
}

func (m *tracked) again() {
	m.begin, m.Valid, m.Log = m.Current, m.Current, nil
	m.made++
}

// changes is CHANGETABLE(CHANGES …) joined with the table: id, v, version, created, present, where it is asked for the
// version where v is in the mask of columns that were written, and then the mask and the context.
func (m *tracked) changes(since int64) [][]driver.Value {
	touched, counts := map[int64]bool{}, map[int64]int64{}
	for _, w := range m.Log {
		if w.Version > since {
			touched[w.ID] = touched[w.ID] || w.Op != 'n'
			counts[w.ID] = w.Version
			if w.Own {
				counts[w.ID] = w.Others
			}
		}
	}
	var rows [][]driver.Value
	for _, c := range m.Changes(since) {
		row := m.row(c.ID, c.Version, c.Created)
		if m.columns && touched[c.ID] {
			row[5] = c.Version
		}
		if m.context {
			row[5] = counts[c.ID]
		}
		row[len(row)-2] = m.Mask(c.ID, since)
		rows = append(rows, row)
	}
	return rows
}

func (m *tracked) row(id, version, created int64) []driver.Value {
	row := []driver.Value{id, nil, version, created, nil}
	if v, there := m.Rows[id]; there {
		row[1], row[4] = v, id
	}
	if m.columns {
		row = append(row, int64(0))
	}
	return append(row, nil, m.Context(id, version))
}

func (m *tracked) told(head int64) string {
	if m.off {
		return fmt.Sprintf("%d||", head)
	}
	return fmt.Sprintf("%d|%d|object %d/%d/%d", head, m.Valid, m.object, m.begin, m.made)
}

const begin = "SET XACT_ABORT ON;\nSET TRANSACTION ISOLATION LEVEL "

var topOf = regexp.MustCompile(`TOP \((\d+)\)`)

func (m *tracked) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	switch {
	case strings.HasPrefix(text, begin+"READ COMMITTED;") && m.torn == nil:
		return nil, errors.New("not to be asked under READ COMMITTED: " + text)
	case strings.Contains(text, "@head") && !strings.HasPrefix(text, begin):
		return nil, errors.New("@head is not declared: " + text)
	case strings.Contains(text, "CHANGETABLE(VERSION") && strings.Contains(text, "TOP ("):
		return m.chunk(text, args)
	case strings.HasPrefix(text, "SELECT COUNT_BIG(*)"):
		return &changetest.Answer{Rows: [][]driver.Value{{int64(len(m.Rows))}}}, nil
	case strings.HasPrefix(text, "SELECT TOP (1) r.[id]\nFROM [dbo].[orders] AS r\nORDER BY r.[id] DESC"):
		if len(m.Rows) == 0 {
			return &changetest.Answer{}, nil
		}
		return &changetest.Answer{Rows: [][]driver.Value{{slices.Max(slices.Collect(maps.Keys(m.Rows)))}}}, nil
	case strings.Contains(text, "CHANGETABLE(VERSION"):
		m.asked = append(m.asked, "keys")
		var ids []int64
		for _, a := range args {
			if a.Name == "" {
				ids = append(ids, a.Value.(int64))
			}
		}
		return &changetest.Answer{Rows: m.newest(text, ids)}, nil
	case strings.HasPrefix(text, "SELECT CONCAT"):
		m.asked = append(m.asked, "how far")
		return &changetest.Answer{Rows: [][]driver.Value{{m.told(m.Current)}}}, nil
	case strings.HasPrefix(text, "SELECT TOP (1) "): // proves that changes can be read
		return &changetest.Answer{}, nil
	case !strings.HasPrefix(text, begin):
		return nil, errors.New("not to be asked: " + text)
	}
	page, err := m.page(text, args)
	if err == nil && strings.Contains(text, "SELECT COUNT_BIG(*)\nFROM (SELECT TOP") {
		page.Rows = [][]driver.Value{{int64(len(page.Rows))}}
	}
	return page, err
}

// page answers as the parts of the transaction do, one after the other.
func (m *tracked) page(text string, args []driver.NamedValue) (*changetest.Answer, error) {
	var at []int64
	named := map[string]any{}
	head := m.Current
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
		since = max(since, m.Valid)
	}
	var rows [][]driver.Value
	if head > named["read"].(int64) {
		if m.off {
			return nil, mssql.Error{Number: 22105, Message: "Change tracking is not enabled on table 'dbo.orders'."}
		}
		m.asked = append(m.asked, "changes")
		if since < m.Valid {
			m.invalid++
		}
		for _, r := range m.seen(text, since) {
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
	return &changetest.Answer{Rows: rows, End: func() { *into = told }}, nil // it comes after the last row
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
	var ids []int64
	for id := range bounds[len(bounds)-1] + 1 {
		if len(bounds) == 1 || id > bounds[0] {
			ids = append(ids, id)
		}
	}
	rows := slices.DeleteFunc(m.newest(text, ids), func(r []driver.Value) bool { return r[4] == nil })
	rows = rows[:min(len(rows), limit)]
	told := m.told(m.Current)
	return &changetest.Answer{Rows: rows, End: func() { *into = told }}, nil
}

func (m *tracked) once(n int) {
	if do := m.meanwhile[n]; do != nil {
		m.meanwhile[n] = nil
		do()
	}
}

func (m *tracked) Connect(context.Context) (driver.Conn, error) { return m, nil }

// dialect is SQL Server's, but for what asks the catalog.
func (m *tracked) dialect() engine.Dialect {
	return changetest.Dialect{Tracking: func(t *engine.Tracking) {
		t.Faults = func(context.Context, *sql.Conn, *engine.ChangeTable) (faults []string, err error) {
			if m.off {
				faults = append(faults, "it is off")
			}
			return faults, nil
		}
	}}
}
