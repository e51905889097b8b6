package leased_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/changetest"
)

// server models the tables of leases beside a table whose changes are tracked. It answers the texts of package
// sqlserver, which it tells apart by their parts, as those say: it does not run them.
type server struct {
	mu sync.Mutex
	*changetest.Table
	from   int64 // GlobalState.LastSyncVersion; -1: there is no row
	legacy *legacy
	token  int64
	leases map[int64]lease // nil: the table is not there
	own    map[int64]own
	east   time.Duration // how far the server's local time is ahead of UTC
	ttl    time.Duration // of instances
	// reserved are the names that no column may have; nil: those of the engine
	reserved []string

	looked, polls, statements int

	compat  bool    // instances do as the binding does
	letters *graves // of instances

	between func() // what happens between the reading of versions and that of rows

	locked time.Time // until when somebody else keeps the application lock
}

// legacy is the state of an older id.
type legacy struct {
	from   int64
	leases map[int64]lease
}

// lease is a row of the binding's table; expires zero is NULL.
type lease struct {
	version  int64
	attempts int
	expires  time.Time
}

// own is a row of the table beside it.
type own struct {
	version, created, since, token int64
	batch, place, attempts         int
	expires, again                 time.Time
	reason                         string
	dead                           bool
}

func newServer() *server { return &server{Table: changetest.NewTable(), from: -1, ttl: time.Minute} }

// commit does the work of one transaction.
func (m *server) commit(work ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Commit(work...)
}

// cut cuts an instance off, or not any more.
func (m *server) cut(in *instance, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in.cut = is
}

func (c conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	m := c.m
	if err := m.lock(ctx, text, params(args)); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statements++
	switch {
	case *c.cut:
		return nil, errCut
	case strings.HasPrefix(text, "SELECT CONCAT"): // what a plan is told
		return &changetest.Answer{Rows: [][]driver.Value{{fmt.Sprintf("%d|%d|object 7/0/0", m.Current, m.Valid)}}}, nil
	case strings.Contains(text, "SELECT COUNT_BIG(*)\nFROM (SELECT TOP"): // of the changes, not of leases
		told, into := fmt.Sprintf("%d|%d|object 7/0/0", m.Current, m.Valid), params(args)["told"].(sql.Out).Dest.(*string)
		n := int64(len(m.Changes(number(params(args)["since"]))))
		return &changetest.Answer{Rows: [][]driver.Value{{n}}, End: func() { *into = told }}, nil
	case strings.HasPrefix(text, "SELECT TOP (1) "): // proves that changes can be read
		return &changetest.Answer{}, nil
	case strings.HasPrefix(text, "SELECT TOP (100) CONCAT("):
		return &changetest.Answer{Rows: m.deadRows()}, nil
	case !strings.Contains(text, "INSERT INTO @page"):
		return nil, errors.New("not to be asked: " + text)
	case m.leases == nil:
		return nil, mssql.Error{Number: 208, Message: "Invalid object name 'az_func.Leases'."}
	}
	p := params(args)
	into := p["told"].(sql.Out).Dest.(*string)
	top, err := strconv.Atoi(topOf.FindStringSubmatch(text)[1])
	if m.compat {
		top /= 2
	}
	if err != nil || top != int(number(p["rows"])) {
		return nil, fmt.Errorf("TOP (%d) of %v rows: %w", top, p["rows"], err)
	}
	if m.compat {
		return m.takeAsBinding(text, p, into)
	}
	told := m.take(number(p["read"]), number(p["token"]), int(number(p["batch"])), int(number(p["rows"])),
		time.Duration(number(p["ttl"]))*time.Millisecond)
	if m.between != nil && told.Held > 0 {
		m.between()
	}
	rows := m.batch(told.Token, int(number(p["batch"])))
	return &changetest.Answer{Rows: rows, End: func() { *into = asJSON(told) }}, nil
}

// batch are the rows of a batch: id, v, version, created, present, mask, context, place, attempts.
func (m *server) batch(token int64, batch int) (rows [][]driver.Value) {
	for id, o := range m.own {
		if token == 0 || o.token != token || o.batch != batch {
			continue
		}
		row := []driver.Value{id, nil, o.version, o.created, nil, nil, m.Context(id, o.version), int64(o.place),
			int64(o.attempts)}
		if v, there := m.Rows[id]; there {
			row[1], row[4] = v, id
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b []driver.Value) int { return int(a[7].(int64) - b[7].(int64)) })
	return rows
}

// take is what takeLeases says.
func (m *server) take(read, token int64, batch, rows int, ttl time.Duration) engine.LeaseTold {
	now := time.Now()
	m.polls++
	t := engine.LeaseTold{Head: m.Current, Token: token, Known: true}
	if !m.looks(read) {
		return t
	}
	m.looked++
	t.Looked, t.Valid, t.Known, t.From = true, m.Valid, m.from >= 0, max(m.from, 0)
	for id, l := range m.leases {
		if o, is := m.own[id]; l.expires.After(now.Add(m.east)) && (!is || !o.expires.Equal(l.expires)) {
			t.Foreign, t.Until = t.Foreign+1, l.expires.Format(time.RFC3339)
		}
	}
	if t.Foreign > 0 || m.from < m.Valid || m.from > m.Current {
		return t
	}
	for _, c := range m.Changes(m.from) {
		l, there := m.leases[c.ID]
		o, is := m.own[c.ID]
		judged := now.Add(m.east)
		if is && o.expires.Equal(l.expires) {
			judged = now
		}
		free := !there || l.expires.IsZero() && l.version < c.Version || !l.expires.IsZero() && !l.expires.After(judged)
		if !free || o.again.After(now) && o.version >= c.Version || t.Held == rows {
			continue
		}
		since := m.from
		switch {
		case there && l.expires.IsZero():
			since = l.version
		case is:
			since = o.since
		}
		if t.Held++; t.Token == 0 {
			m.token++
			t.Token = m.token
		}
		next := own{version: c.Version, since: since, token: t.Token, batch: batch, place: t.Held, expires: now.Add(ttl)}
		if c.Created > since {
			next.created = c.Version
		}
		if is && o.version >= c.Version {
			next.attempts = o.attempts
		}
		m.own[c.ID], m.leases[c.ID] = next, lease{version: c.Version, expires: next.expires}
	}
	if t.Held == 0 {
		m.advance()
	}
	return t
}

// looks reports whether a poll looks for changes.
func (m *server) looks(read int64) bool {
	now, lapsed := time.Now(), false
	for id, l := range m.leases {
		lapsed = lapsed || !l.expires.IsZero() && !l.expires.After(now) && !m.own[id].again.After(now)
	}
	return m.Current > read || lapsed
}

// advance is what the text of that name says.
func (m *server) advance() {
	to := m.Current
	for _, c := range m.Changes(m.from) {
		if l, there := m.leases[c.ID]; !there || l.version < c.Version || !l.expires.IsZero() {
			to = min(to, c.Version-1)
			break
		}
	}
	if to <= m.from {
		return
	}
	m.from = to
	for id, l := range m.leases {
		if l.version <= to && l.expires.IsZero() {
			delete(m.leases, id)
			if !m.own[id].dead {
				delete(m.own, id)
			}
		}
	}
}

func (c conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	m, p := c.m, params(args)
	if err := m.lock(ctx, text, p); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statements++
	if *c.cut {
		return nil, errCut
	}
	if m.leases == nil && !strings.Contains(text, "@made AS Made") {
		return nil, mssql.Error{Number: 208, Message: "Invalid object name 'az_func.Leases'."}
	}
	var told engine.LeaseTold
	switch {
	case strings.Contains(text, "OPENJSON(j.k)"):
		told = m.markAsBinding(text, p)
	case m.compat && strings.Contains(text, "@waiting AS Waiting"):
		told = m.showAsBinding()
	case strings.Contains(text, "@made AS Made"):
		if strings.Contains(text, "WHERE UserFunctionID = '0a1b2c3d4e5f6071'") {
			m.takeOver()
		}
		told.Made = m.make(strings.Contains(text, "', OBJECT_ID(N'[dbo].[orders]'), CHANGE_TRACKING_CURRENT_VERSION())"))
	case strings.Contains(text, "OPENJSON(@marks)"):
		var marks []engine.LeaseMark
		if err := json.Unmarshal([]byte(p["marks"].(string)), &marks); err != nil {
			return nil, err
		}
		told.Held, told.Asked = m.settle(number(p["token"]), marks)
	case strings.Contains(text, "DATEADD(millisecond, @ttl, @now)"):
		told.Held = m.renew(number(p["token"]), time.Duration(number(p["ttl"]))*time.Millisecond)
	case strings.Contains(text, "CASE @to WHEN -1"):
		told = m.reset(number(p["to"]))
	case strings.Contains(text, "@waiting AS Waiting"):
		told = m.show()
	default:
		return nil, errors.New("not to be asked: " + text)
	}
	*p["told"].(sql.Out).Dest.(*string) = asJSON(told)
	return driver.ResultNoRows, nil
}

// takeOver is what the text of that name says.
func (m *server) takeOver() {
	if m.from < 0 && m.legacy != nil {
		m.from, m.leases, m.legacy = m.legacy.from, m.legacy.leases, nil
	}
}

func (m *server) make(latest bool) (made bool) {
	if made = m.leases == nil; made {
		m.leases = map[int64]lease{}
	}
	if m.own == nil {
		m.own = map[int64]own{}
	}
	switch {
	case m.from >= 0:
	case latest:
		m.from = m.Current
	default:
		m.from = m.Valid
	}
	return made
}

// reset is what the text of that name says, where no lease is held.
func (m *server) reset(to int64) engine.LeaseTold {
	if to == -2 {
		to = m.Current
	}
	m.from, m.leases, m.own = to, map[int64]lease{}, map[int64]own{}
	return engine.LeaseTold{From: to, Valid: m.Valid, Head: m.Current, Known: true}
}

func (m *server) renew(token int64, ttl time.Duration) (held int) {
	now := time.Now()
	for id, o := range m.own {
		if l := m.leases[id]; o.token == token && o.expires.After(now) && l.expires.Equal(o.expires) {
			o.expires, l.expires = now.Add(ttl), now.Add(ttl)
			m.own[id], m.leases[id] = o, l
			held++
		}
	}
	return held
}

func (m *server) settle(token int64, marks []engine.LeaseMark) (held, asked int) {
	now := time.Now()
	at := map[int64]engine.LeaseMark{}
	for id, o := range m.own {
		for _, k := range marks {
			if o.token == token && o.batch == k.Batch && o.place == k.Place && o.expires.After(now) &&
				m.leases[id].expires.Equal(o.expires) {
				at[id] = k
			}
		}
	}
	if len(at) < len(marks) {
		return len(at), len(marks)
	}
	for id, k := range at {
		l, o := m.leases[id], m.own[id]
		o.token, o.attempts, o.reason, o.dead, o.again = 0, k.Attempts, k.Reason, k.Dead, time.Time{}
		if k.Delay > 0 {
			o.again = now.Add(time.Duration(k.Delay) * time.Millisecond)
		}
		if l.expires, o.expires = now, now; k.Done {
			l.expires, o.expires = time.Time{}, time.Time{}
		}
		m.leases[id], m.own[id] = l, o
	}
	if m.from >= m.Valid {
		m.advance()
	}
	return len(marks), len(marks)
}

func asJSON(t engine.LeaseTold) string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// show is what the text of that name says.
func (m *server) show() engine.LeaseTold {
	now := time.Now()
	t := engine.LeaseTold{Head: m.Current, From: max(m.from, 0), Valid: m.Valid, Known: m.from >= 0}
	for _, c := range m.Changes(t.From) {
		if l, there := m.leases[c.ID]; t.Known && (!there || l.version < c.Version || !l.expires.IsZero()) {
			t.Waiting++
		}
	}
	for _, o := range m.own {
		if o.expires.After(now) {
			t.Leased++
		}
		if !o.again.IsZero() {
			t.Parked++
		}
		if o.dead {
			t.Gone++
		}
	}
	return t
}

// deadRows are key, version, attempts, reason.
func (m *server) deadRows() (rows [][]driver.Value) {
	for id, o := range m.own {
		if o.dead {
			rows = append(rows, []driver.Value{fmt.Sprintf("id=%d", id), o.version, int64(o.attempts), o.reason})
		}
	}
	return rows
}
