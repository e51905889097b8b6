package leased_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/changetest"
	"github.com/rowrelay/rowrelay/poller"
)

// graves are a place for dead letters.
type graves struct {
	mu   sync.Mutex
	err  error
	told []string // keys
}

func (g *graves) Put(_ context.Context, d poller.DeadLetter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.told = append(g.told, string(d.Event.Key)+" "+string(d.Event.Row))
	}
	return g.err
}

// buried are the dead letters, sorted.
func (g *graves) buried() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.Sort(g.told)
	return strings.Join(g.told, ", ")
}

// taken is a row of a batch of the binding.
type taken struct {
	id, version int64
	insert      bool
	attempts    int
}

// bindingTake is what the binding does to take a batch, and takeAsBinding after it: facts that its source tells.
func (m *server) bindingTake(rows int, ttl time.Duration) (batch []taken, missed int64) {
	local := time.Now().Add(m.east)
	if m.from < m.Valid {
		missed, m.from = m.Valid-m.from, m.Valid
	}
	for _, c := range m.Changes(m.from) {
		l, there := m.leases[c.ID]
		free := !there || l.expires.IsZero() && l.version < c.Version || !l.expires.IsZero() && l.expires.Before(local)
		if !free || l.attempts >= 5 || len(batch) == rows {
			continue
		}
		t := taken{c.ID, c.Version, c.Created > m.from, l.attempts + 1}
		batch = append(batch, t)
		m.leases[c.ID] = lease{version: c.Version, attempts: t.attempts, expires: local.Add(ttl)}
	}
	return batch, missed
}

// spent are the rows that have used their attempts up, and of which nobody was told.
func (m *server) spent() (rows []taken) {
	local := time.Now().Add(m.east)
	for _, c := range m.Changes(m.from) {
		l := m.leases[c.ID]
		if o, is := m.own[c.ID]; l.attempts < 5 || !l.expires.Before(local) || is && o.dead && o.version >= c.Version {
			continue
		}
		rows = append(rows, taken{c.ID, c.Version, c.Created > m.from, -m.leases[c.ID].attempts})
	}
	return rows
}

// takeAsBinding answers the text of that name.
func (m *server) takeAsBinding(text string, p map[string]any, into *string) (driver.Rows, error) {
	if !strings.Contains(text, "REPEATABLE READ") {
		return nil, fmt.Errorf("not as the binding does it: %s", text)
	}
	told := engine.LeaseTold{Head: m.Current, Known: true}
	lapsed := false
	for id, l := range m.leases {
		o := m.own[id]
		lapsed = lapsed || !l.expires.IsZero() && l.expires.Before(time.Now().Add(m.east)) &&
			(l.attempts < 5 || !o.dead || o.version < l.version)
	}
	var rows [][]driver.Value
	if m.polls++; m.Current > number(p["read"]) || lapsed {
		m.looked++
		told.Looked, told.Valid, told.Known = true, m.Valid, m.from >= 0
		if told.Known {
			var batch []taken
			spent := m.spent()
			batch, told.Missed = m.bindingTake(int(number(p["rows"])), time.Duration(number(p["ttl"]))*time.Millisecond)
			told.Held, told.Dropped, told.From = len(batch), len(spent), m.from
			if m.between != nil {
				m.between()
			}
			rows = m.asRows(append(batch, spent...))
		}
	}
	return &changetest.Answer{Rows: rows, End: func() { *into = asJSON(told) }}, nil
}

// asRows are id, v, version, created, present, mask, context, place, attempts, key.
func (m *server) asRows(batch []taken) (rows [][]driver.Value) {
	for i, t := range batch {
		row := []driver.Value{t.id, nil, t.version, int64(0), nil, nil, m.Context(t.id, t.version), int64(i + 1),
			int64(t.attempts), fmt.Sprintf(`{"k0":%d,"v":%d}`, t.id, t.version)}
		if t.insert {
			row[3] = t.version
		}
		if v, there := m.Rows[t.id]; there {
			row[1], row[4] = v, t.id
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b []driver.Value) int { return int(a[2].(int64) - b[2].(int64)) })
	return rows
}

// markAsBinding is what renewAsBinding and settleAsBinding say.
func (m *server) markAsBinding(text string, p map[string]any) (told engine.LeaseTold) {
	var marks []engine.LeaseMark
	if err := json.Unmarshal([]byte(p["marks"].(string)), &marks); err != nil {
		panic(err)
	}
	var batch []taken
	for _, k := range marks {
		var key struct{ K0, V int64 }
		if err := json.Unmarshal([]byte(k.Key), &key); err != nil {
			panic(err)
		}
		if k.Done {
			batch = append(batch, taken{id: key.K0, version: key.V})
		}
		if k.Dead {
			m.own[key.K0] = own{version: key.V, attempts: k.Attempts, reason: k.Reason, dead: true}
		}
	}
	if strings.Contains(text, "@ttl") {
		told.Held = m.bindingRenew(batch, time.Duration(number(p["ttl"]))*time.Millisecond)
		return told
	}
	m.bindingRelease(batch)
	told.Held, told.Asked = len(marks), len(marks)
	return told
}

// bindingRenew extends leases, whoever holds them.
func (m *server) bindingRenew(batch []taken, ttl time.Duration) (n int) {
	for _, t := range batch {
		if l, there := m.leases[t.id]; there {
			l.expires = time.Now().Add(m.east + ttl)
			m.leases[t.id] = l
			n++
		}
	}
	return n
}

// bindingRelease has a batch processed, and moves the state to the second-highest version of it. (That it waits for
// those of which nobody was told, ours adds.)
func (m *server) bindingRelease(batch []taken) {
	versions := map[int64]bool{}
	for _, t := range batch {
		versions[t.version] = true
		if l, there := m.leases[t.id]; there && l.version <= t.version {
			m.leases[t.id] = lease{version: t.version}
		}
	}
	var order []int64
	for v := range versions {
		order = append(order, v)
	}
	if slices.Sort(order); len(order) == 0 {
		return
	}
	to := order[max(0, len(order)-2)]
	for _, c := range m.Changes(m.from) {
		l, there := m.leases[c.ID]
		o := m.own[c.ID]
		if waits := !there || l.version != c.Version || !l.expires.IsZero(); c.Version <= to && waits &&
			(l.attempts < 5 || m.compat && (!o.dead || o.version < c.Version)) {
			return
		}
	}
	if to > m.from {
		m.from = to
		for id, l := range m.leases {
			if l.version <= to {
				delete(m.leases, id)
			}
		}
	}
}

// showAsBinding is what the text of that name says.
func (m *server) showAsBinding() engine.LeaseTold {
	local := time.Now().Add(m.east)
	t := engine.LeaseTold{Head: m.Current, From: max(m.from, 0), Valid: m.Valid, Known: m.from >= 0}
	for _, c := range m.Changes(t.From) {
		l, there := m.leases[c.ID]
		if (!there || l.expires.IsZero() && l.version < c.Version || !l.expires.IsZero() && l.expires.Before(local)) &&
			l.attempts < 5 {
			t.Waiting++
		}
	}
	for id, l := range m.leases {
		switch {
		case !l.expires.IsZero() && !l.expires.Before(local):
			t.Leased++
		case !l.expires.IsZero() && l.attempts < 5:
			t.Parked++
		}
		if m.own[id].dead {
			t.Gone++
		}
	}
	return t
}
