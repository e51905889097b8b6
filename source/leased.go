package source

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// Leases are the changes of a source that instances share by leases on its rows. They are safe for concurrent use.
type Leases struct {
	c    *Cursor
	cfg  LeasesConfig
	mu   sync.Mutex
	of   *plan.Plan // that tables was made of
	made *engine.LeaseTables
}

// LeasesConfig names the tables of leases.
type LeasesConfig struct {
	// Function is the binding's id of the function, Table the leases table's name; "" for the binding's own.
	Function, Table string
	// Legacy is an older id, whose state is taken over; "" for none.
	Legacy string
	// TableLock locks the leases table alone, and not those of every function of the database.
	TableLock bool
	// LockTimeout is how long the lock is waited for, at most nine tenths of source__timeout: the server says it then.
	LockTimeout time.Duration
	// Binding has all done as the binding does it: see engine.Leasing.Binding.
	Binding bool
}

// Leases returns the leases on the source's changes. Nothing is asked yet.
func (c *Cursor) Leases(cfg LeasesConfig) *Leases {
	cfg.LockTimeout = min(cfg.LockTimeout, c.cfg.Timeout*9/10)
	return &Leases{c: c, cfg: cfg}
}

// Batch is what Take took.
type Batch struct {
	Told engine.LeaseTold
	// Number is that of the batch, under Told.Token. Rows are those to deliver, in order; Left are the places of rows that
	// the settings leave out, Unread those that the page had no room for.
	Number       int
	Rows         []LeasedRow
	Left, Unread []int
	// Dropped are rows that have used their attempts up. Only as the binding does it.
	Dropped []LeasedRow
}

// LeasedRow is an event, and its place in its batch, or its key (engine.LeaseMark).
type LeasedRow struct {
	Event change.Event
	Place int
	Key   string
}

// Taking says what to take: see engine.Leasing.Before.
type Taking struct {
	Limit poller.Limit
	Read  int64
	Token int64
	// Number draws the number of a batch: one for each attempt, because a lost answer leaves rows under its number.
	Number func() int
	TTL    time.Duration
}

// Take takes a batch under leases, and reads its rows.
func (l *Leases) Take(ctx context.Context, t Taking) (b Batch, err error) {
	err = l.byTables(ctx, func(p *plan.Plan, own *engine.Leasing, tables *engine.LeaseTables) error {
		return l.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			b, err = l.take(ctx, s, p, own, tables, &t)
			return err
		})
	})
	if err != nil {
		return Batch{}, fmt.Errorf("take changes: %w", err)
	}
	return b, nil
}

func (l *Leases) take(ctx context.Context, s *pool.Session, p *plan.Plan, own *engine.Leasing,
	tables *engine.LeaseTables, t *Taking) (Batch, error) {
	b := Batch{Number: t.Number()}
	var text string
	sel, place := leasedSelection(p, own, tables)
	most := t.Limit.Rows
	if l.cfg.Binding {
		most *= 2 // those that have used their attempts up come beside the others
	}
	st := sel.Page(most, keyset.Span{Also: []keyset.Condition{func(b *keyset.Builder, _ *keyset.Selection) {
		b.Before, b.After = own.Before(tables), own.After(tables)
		b.Add("1 = 1")
	}}})
	args := append(l.args(&text), sql.Named("rows", t.Limit.Rows), sql.Named("read", t.Read), sql.Named("token", t.Token),
		sql.Named("batch", b.Number), sql.Named("ttl", t.TTL.Milliseconds()))
	col := collect.Collector{Plan: p, Cfg: &l.c.cfg, Limit: t.Limit, Fetched: time.Now()}
	size, last, full := 0, 0, false
	err := l.c.dialect.Read(ctx, s.Conn, st.Text, args, sel.Columns, func(r engine.Row) (bool, error) {
		at, err := numbers(r, place, place+1)
		if err != nil {
			return false, err
		}
		var e change.Event
		if !col.Make(r, &e) {
			return false, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, l.c.name(), col.Bad)
		}
		if l.cfg.Binding {
			return true, b.keyed(r, e, at, place+2)
		}
		size += e.Size()
		if full = full || len(b.Rows) > 0 && size > t.Limit.Bytes; full {
			return true, nil // to the end, where the server tells what it took
		}
		for last++; last < at[0]; last++ { // source__where leaves them out
			b.Left = append(b.Left, last)
		}
		if wanted := l.c.cfg.Operations; len(wanted) > 0 && !slices.Contains(wanted, e.Op.String()) {
			b.Left = append(b.Left, at[0])
			return true, nil
		}
		e.Attempts = at[1]
		e.Refused = e.Attempts > 1 // the first may have counted without evidence
		b.Rows = append(b.Rows, LeasedRow{Event: e, Place: at[0]})
		return true, nil
	})
	if err == nil {
		b.Told, err = engine.ParseLeaseTold(text)
	}
	if l.cfg.Binding {
		return b, err
	}
	rest := &b.Left
	if full {
		rest = &b.Unread
	}
	for last++; last <= b.Told.Held; last++ {
		*rest = append(*rest, last)
	}
	return b, err
}

// keyed adds a row whose place and attempts are at, and whose key is in a column.
func (b *Batch) keyed(r engine.Row, e change.Event, at []int, column int) error {
	text, err := r.AppendJSON(nil, column)
	row := LeasedRow{Event: e}
	if err == nil {
		err = json.Unmarshal(text, &row.Key)
	}
	if err != nil {
		return fmt.Errorf("%w: read the key of a lease: %w", engine.ErrSchemaChanged, err)
	}
	if row.Event.Attempts = at[1]; at[1] > 0 {
		row.Event.Attempts-- // the one that was counted is this one
		b.Rows = append(b.Rows, row)
		return nil
	}
	row.Event.Attempts = -at[1]
	b.Dropped = append(b.Dropped, row)
	return nil
}

// leasedSelection is what is read of a batch; the places stand in the column that it returns, attempts and keys after
// them.
func leasedSelection(p *plan.Plan, own *engine.Leasing, tables *engine.LeaseTables) (*keyset.Selection, int) {
	sel := p.Sel
	place, attempts := p.BuiltIn().Version, p.BuiltIn().Version
	place.Name, attempts.Name = engine.LeasePlace, engine.LeaseAttempts
	also := func(c engine.Column) string { return "c." + p.Syntax.Quote(c.Name) }
	more := []engine.Column{place, attempts}
	if own.Key.Name != "" {
		more = append(more, own.Key)
	}
	names := make([]string, len(more))
	for i := range more {
		names[i] = also(more[i])
	}
	sel.From = p.Table.Changes.Joined(own.Rows(tables), names...)
	sel.Columns = append(p.Sel.Columns[:len(p.Sel.Columns):len(p.Sel.Columns)], more...)
	return &sel, len(p.Sel.Columns)
}

// numbers are the values of columns that hold whole numbers.
func numbers(r engine.Row, columns ...int) ([]int, error) {
	out := make([]int, len(columns))
	for n, i := range columns {
		text, err := r.AppendJSON(nil, i)
		if err == nil {
			out[n], err = strconv.Atoi(string(text))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: read the place of a row: %w", engine.ErrSchemaChanged, err)
		}
	}
	return out, nil
}

// Make makes the tables that are missing, and reports whether the leases table was.
func (l *Leases) Make(ctx context.Context) (made bool, err error) {
	t, err := l.run(ctx, "make the tables of leases", func(o *engine.Leasing) text { return o.Make })
	return t.Made, err
}

// Renew extends the leases of a token, and returns how many there were; a ttl of 0 has them lapse. As the binding does
// it, it extends those of marks.
func (l *Leases) Renew(ctx context.Context, token int64, ttl time.Duration, marks ...engine.LeaseMark) (int, error) {
	t, err := l.run(ctx, "renew leases", func(o *engine.Leasing) text { return o.Renew }, sql.Named("token", token),
		sql.Named("ttl", ttl.Milliseconds()), sql.Named("marks", engine.ListMarks(marks)))
	return t.Held, err
}

// ErrLeaseLost says that a lease is not held any more.
var ErrLeaseLost = errors.New("leases are no longer held: they have lapsed, and another may have taken the rows")

// Settle makes marks durable, all of them or none.
func (l *Leases) Settle(ctx context.Context, token int64, marks []engine.LeaseMark) error {
	t, err := l.run(ctx, "settle leases", func(o *engine.Leasing) text { return o.Settle }, sql.Named("token", token),
		sql.Named("marks", engine.ListMarks(marks)))
	if err == nil && t.Held != t.Asked {
		err = fmt.Errorf("%w (%d of %d are left)", ErrLeaseLost, t.Held, t.Asked)
	}
	return err
}

// Show tells of the shared state; Reset moves it: see engine.Leasing.
func (l *Leases) Show(ctx context.Context) (engine.LeaseTold, error) {
	return l.run(ctx, "read the shared state", func(o *engine.Leasing) text { return o.Show })
}

// Reset moves the shared state: see engine.Leasing.
func (l *Leases) Reset(ctx context.Context, to int64) (engine.LeaseTold, error) {
	return l.run(ctx, "reset the shared state", func(o *engine.Leasing) text { return o.Reset }, sql.Named("to", to))
}

// DeadRow is a row that was given up. Key is for people.
type DeadRow struct {
	Key      string `json:"key"`
	Version  int64  `json:"version"`
	Attempts int    `json:"attempts"`
	Reason   string `json:"reason"`
}

// Dead lists rows that were given up, at most 100.
func (l *Leases) Dead(ctx context.Context) (rows []DeadRow, err error) {
	err = l.byTables(ctx, func(_ *plan.Plan, own *engine.Leasing, t *engine.LeaseTables) error {
		return l.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			rows = nil
			return engine.EachRow(ctx, s.Conn, own.Dead(t), nil, func(scan func(...any) error) error {
				var d DeadRow
				err := scan(&d.Key, &d.Version, &d.Attempts, &d.Reason)
				rows = append(rows, d)
				return err
			})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return rows, nil
}

// Faults says what stands in the way of sharing, each in a sentence with what to do. It makes nothing.
func (l *Leases) Faults(ctx context.Context) (faults []string, err error) {
	err = l.byTables(ctx, func(_ *plan.Plan, own *engine.Leasing, t *engine.LeaseTables) error {
		return l.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			faults, err = own.Faults(ctx, s.Conn, t)
			return err
		})
	})
	return faults, err
}

// Tables names the tables, and says what changes are read of.
func (l *Leases) Tables(ctx context.Context) (t engine.LeaseTables, origin poller.Origin, notes []string, err error) {
	d, err := l.c.Describe(ctx)
	if err != nil {
		return t, origin, nil, err
	}
	err = l.byTables(ctx, func(_ *plan.Plan, _ *engine.Leasing, of *engine.LeaseTables) error {
		t = *of
		return nil
	})
	return t, poller.Origin{Engine: d.Engine, Table: d.Table, Fingerprint: d.Fingerprint}, d.Warnings, err
}

// IsMissing reports whether an error says that tables of leases are not there.
func (l *Leases) IsMissing(err error) bool {
	own := l.c.dialect.Syntax().Tracking.BuiltIn
	return own != nil && own.Leasing.IsMissing(err)
}

// text is one of the texts of engine.Leasing.
type text = func(*engine.LeaseTables) string

// run runs one of the texts, and returns what it tells.
func (l *Leases) run(ctx context.Context, what string, which func(*engine.Leasing) text,
	args ...any) (t engine.LeaseTold, err error) {
	err = l.byTables(ctx, func(_ *plan.Plan, own *engine.Leasing, tables *engine.LeaseTables) error {
		return l.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			var told string
			_, err := s.Conn.ExecContext(ctx, which(own)(tables), append(l.args(&told), args...)...)
			if err == nil {
				t, err = engine.ParseLeaseTold(told)
			}
			return err
		})
	})
	if err != nil {
		return t, fmt.Errorf("%s: %w", what, err)
	}
	return t, nil
}

// args are those that every text has.
func (l *Leases) args(told *string) []any {
	return []any{sql.Named("wait", l.cfg.LockTimeout.Milliseconds()), sql.Named("told", sql.Out{Dest: told})}
}

// byTables does work with the tables of leases, as the catalog names them. An application lock that is not free is
// said as such.
func (l *Leases) byTables(ctx context.Context,
	work func(*plan.Plan, *engine.Leasing, *engine.LeaseTables) error) error {
	err := l.c.byPlan(ctx, func(p *plan.Plan) error {
		if p.BuiltIn() == nil || p.BuiltIn().Leasing == nil {
			return fmt.Errorf("%w: source__leases=azfunc: the tables of the Azure SQL trigger are on SQL Server, and this is %s",
				poller.ErrConfig, p.Syntax.Name)
		}
		t, err := l.tables(ctx, p)
		if err != nil {
			return err
		}
		own := p.BuiltIn().Leasing
		if l.cfg.Binding {
			own = own.Binding
		}
		return work(p, own, t)
	})
	if leasing := l.c.dialect.Syntax().Tracking.BuiltIn; err != nil && leasing != nil && leasing.Leasing.IsLocked(err) {
		return fmt.Errorf("the application lock was not free within Sql_Trigger_AppLockTimeoutMs (%v): another instance, or a "+
			"function of the Azure SQL trigger, keeps it; source__leases_lock=table makes it one for each leases table: %w",
			l.cfg.LockTimeout, err)
	}
	return err
}

// tables names the tables of a plan, and asks for the key once. What it returns is not changed any more: workers share
// it.
func (l *Leases) tables(ctx context.Context, p *plan.Plan) (*engine.LeaseTables, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == p {
		return l.made, nil
	}
	var taken []string
	for i := range p.Table.Columns {
		name := p.Table.Columns[i].Name
		if slices.ContainsFunc(p.BuiltIn().Leasing.Reserved, func(r string) bool { return strings.EqualFold(r, name) }) {
			taken = append(taken, name)
		}
	}
	if len(taken) > 0 {
		return nil, fmt.Errorf("%w: source__leases=azfunc: found reserved column name(s) in table %s: %s: rename them",
			poller.ErrConfig, p.Table.Name, strings.Join(taken, ", "))
	}
	t := engine.LeaseTables{Changes: p.Table.Changes, Function: l.cfg.Function, Leases: l.cfg.Table,
		Lock: "_az_func_Trigger", Latest: l.c.cfg.Start == "latest"}
	err := l.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		number, key, err := p.BuiltIn().Leasing.Lookup(ctx, s.Conn, t.Changes)
		named := func(function string) string { return fmt.Sprintf("Leases_%s_%d", function, number) }
		if t.Key = key; t.Leases == "" {
			t.Leases = named(t.Function)
		}
		if t.Legacy = l.cfg.Legacy; t.Legacy != "" {
			t.LegacyLeases = named(t.Legacy)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if l.cfg.TableLock {
		t.Lock += "_" + t.Leases
	}
	l.of, l.made = p, &t
	return l.made, nil
}
