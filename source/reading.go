package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/tracked"
)

// page reads one page by a plan, under further conditions.
func (c *Cursor) page(ctx context.Context, p *plan.Plan, r change.Range, limit poller.Limit,
	also ...keyset.Condition) (change.Page, error) {
	rd, err := c.newReading(p, r, limit, also)
	if err != nil {
		return change.Page{}, err
	}
	if err := c.sessions.Run(ctx, rd.on); err != nil {
		return change.Page{}, err
	}
	page, again, err := rd.page(ctx)
	if again {
		return c.page(ctx, p, r, limit, also...)
	}
	return page, err
}

// reading is the reading of one page.
type reading struct {
	c     *Cursor
	p     *plan.Plan
	r     change.Range
	limit poller.Limit

	pos     keyset.Position
	within  *tracked.Window
	untold  func(version []byte) bool
	touched func(version []byte) bool
	shown   shownWriters
	recent  bool // rows of known writers are left out
	ask     int
	text    string
	args    []any

	// What was read.
	col     collect.Collector
	read    change.Page
	gap     error
	verdict error // on the table, not on the connection: it is no reason to give up the session
}

// newReading prepares the statement of a page.
func (c *Cursor) newReading(p *plan.Plan, r change.Range, limit poller.Limit, also []keyset.Condition) (*reading,
	error) {
	rd := &reading{c: c, p: p, r: r, limit: limit}
	var err error
	if rd.pos, err = p.Decode(r.After); err != nil {
		return nil, err
	}
	end, err := p.Decode(r.UpTo)
	if err != nil {
		return nil, err
	}
	if rd.within, err = c.tracked(p).Window(r); err != nil {
		return nil, err
	}
	if rd.untold, err = c.tracked(p).Untold(rd.within, r); err != nil {
		return nil, err
	}
	if rd.touched, err = c.tracked(p).Touched(rd.within, r); err != nil {
		return nil, err
	}
	rd.ask = c.ask(limit.Rows)
	// One row more than wanted: whether there is more is then known without another round trip, and in a query a second
	// row with the last row's cursor and key is seen.
	sel, all := rd.within.Selection(p, also)
	span := keyset.Span{After: len(rd.pos), UpTo: len(end), Common: keyset.Common(rd.pos, end), Also: all}
	rd.shown = c.shown()
	rd.recent = p.Sel.Writer != nil && r.Since > 0 && rd.shown.May(r.Since)
	st := sel.Page(rd.ask+1, span)
	if rd.recent {
		st = sel.Recent(rd.ask+1, max(recentRows*rd.ask, recentLeast), span, r.Since)
	}
	rd.text = st.Text
	rd.args, err = p.Args(st, rd.pos, end)
	return rd, err
}

// on reads with a session. It can be repeated.
func (rd *reading) on(ctx context.Context, s *pool.Session) error {
	c, p := rd.c, rd.p
	rd.col = collect.Collector{
		Plan: p, Cfg: &c.cfg, Limit: poller.Limit{Rows: rd.ask, Bytes: rd.limit.Bytes}, Fetched: time.Now(),
		Times: collect.TimesOf(p, rd.pos), Since: rd.within.Newer(), Untold: rd.untold, Touched: rd.touched,
		Masked: rd.within.Masked(),
	}
	rd.read = change.Page{NullCursors: -1}
	rd.within.Reset()
	if err := c.read(ctx, s, rd.text, rd.args, &rd.col); err != nil {
		return fmt.Errorf("read a page: %w", err)
	}
	moves := len(rd.col.Events) > 0 || p.Sel.Where != "" && !rd.r.UpTo.IsStart() // sparse.go: without an event, too
	if err := c.witness(ctx, s, p, &rd.read, moves); err != nil {
		return err
	}
	if p.Sel.Writer != nil {
		c.number(&rd.read, rd.col.Events, &s.Server, rd.shown)
	}
	if rd.col.Tied != nil && !s.Broken {
		if err := c.untie(ctx, s, &rd.col); err != nil {
			return err
		}
	}
	rd.verdict = c.probe(ctx, s, p, rd.pos, &rd.read)
	if rd.gap = nil; len(rd.col.Events) == 0 && rd.col.Bad == nil && rd.r.UpTo.IsStart() && !rd.within.IsBuiltIn() {
		rd.gap = c.seekGap(ctx, s, p, rd.r.After, rd.pos, &rd.read)
	}
	return nil
}

// page is the page that was read, or says that it has to be read again, for more rows.
func (rd *reading) page(ctx context.Context) (page change.Page, again bool, err error) {
	c, col := rd.c, &rd.col
	page = rd.read
	if rd.verdict != nil {
		return change.Page{}, false, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), rd.verdict)
	}
	if rd.gap != nil {
		return change.Page{}, false, rd.gap
	}
	c.learn(max(len(col.Events), len(col.Tied)), rd.ask, rd.limit.Rows, col.Full)
	if col.Tied != nil && !col.Full && rd.ask < rd.limit.Rows {
		return change.Page{}, true, nil
	}
	page.Events, page.More = col.Events, col.More
	if rd.recent {
		leaveOut(&page, rd.r.Since, rd.r.UpTo)
	}
	if n := len(col.Events); n > 0 {
		c.sound(col.Events[n-1].Cursor, page.Table)
	}
	if col.Bad != nil {
		if len(col.Events) == 0 {
			return change.Page{}, false, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), col.Bad)
		}
		page.More = true
	}
	if rd.within != nil {
		return page, false, rd.within.Finish(&page, col, func() (told tracked.Told, err error) {
			err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
				told, err = c.tracked(rd.p).Tell(ctx, s.Conn)
				return err
			})
			return told, err
		})
	}
	return page, false, nil
}

// errGivenUp says that the connection was given up in the middle of a page, which is good.
var errGivenUp = errors.New("the connection was given up")

// orderedPage reads a page and, before it, what became visible since Range.Again (Range.Known), all in one snapshot.
func (c *Cursor) orderedPage(ctx context.Context, p *plan.Plan, r change.Range, limit poller.Limit) (page change.Page,
	err error) {
	snapshots, ok := c.dialect.(engine.Snapshotter)
	if !ok {
		return page, fmt.Errorf("%w: %s cannot read in one snapshot", poller.ErrConfig, c.name())
	}
	var fault error // of what was read: it is no reason to give up the session
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		err := snapshots.Snapshot(ctx, s.Conn, func() (err error) {
			page, fault, err = c.readOrdered(ctx, s, p, r, limit)
			return err
		})
		if errors.Is(err, errGivenUp) {
			return nil
		}
		return err
	})
	if err = errors.Join(err, fault); err != nil {
		return change.Page{}, err
	}
	return page, nil
}

func (c *Cursor) readOrdered(ctx context.Context, s *pool.Session, p *plan.Plan, r change.Range, limit poller.Limit) (
	page change.Page, fault, err error) {
	state, err := c.state(ctx, s, p)
	if err != nil {
		return page, nil, err
	}
	if r.Same == nil || !r.Same(state) {
		page, fault, err = c.readAgain(ctx, s, p, r, limit)
		if err != nil || fault != nil || page.AgainMore {
			return page, fault, err
		}
	}
	again := page.Again
	r.Again, r.Known, r.Since = nil, nil, 0
	page, fault, err = c.readOn(ctx, s, p, r, limit)
	page.Again, page.State = again, state
	return page, fault, err
}

// state is that of the snapshot that a session reads in. Where a view, a query or a condition chooses rows they may
// change with the time, without a commit.
func (c *Cursor) state(ctx context.Context, s *pool.Session, p *plan.Plan) (change.State, error) {
	counter, ok := c.dialect.(engine.CommitCounter)
	if !ok || p.Sel.Query != "" || p.Table.View || c.cfg.Where != "" {
		return change.State{}, nil
	}
	n, err := counter.Commits(ctx, s.Conn)
	return change.State{Counter: s.ID, Commits: n}, err
}

// readAgain reads the rows since Range.Again that are not known. It reads page by page: there may be many that are.
func (c *Cursor) readAgain(ctx context.Context, s *pool.Session, p *plan.Plan, r change.Range, limit poller.Limit) (
	page change.Page, fault, err error) {
	part := change.Range{After: r.Again, UpTo: r.After, Late: r.Late, Told: r.Told, Since: r.Since}
	at := limit
	at.Rows = max(at.Rows, late.RowsAgain)
	var rows []change.Event
	for size := 0; ; {
		page, fault, err = c.readOn(ctx, s, p, part, at)
		if err != nil && !errors.Is(err, errGivenUp) || fault != nil {
			return page, fault, err
		}
		if end := page.End(); end != nil {
			part.After = end
		}
		for i := range page.Events {
			if e := &page.Events[i]; !r.Known(e, page.Numbers) {
				rows = append(rows, *e)
				size += len(e.Row) + len(e.Key)
			}
		}
		if len(rows) > limit.Rows {
			rows, page.More = rows[:limit.Rows], true
		}
		page.AgainMore = page.More && (err != nil || len(rows) >= limit.Rows || size >= limit.Bytes)
		if page.AgainMore || !page.More {
			page.Again, page.Events, page.To, page.More = rows, nil, nil, true
			return page, nil, err
		}
	}
}

// readOn reads one page with a session. After errGivenUp the page is good, and the session is not.
func (c *Cursor) readOn(ctx context.Context, s *pool.Session, p *plan.Plan, r change.Range, limit poller.Limit) (
	page change.Page, fault, err error) {
	for again := true; again; {
		rd, err := c.newReading(p, r, limit, nil)
		if err != nil {
			return change.Page{}, err, nil
		}
		if err := rd.on(ctx, s); err != nil {
			return change.Page{}, nil, err
		}
		if page, again, fault = rd.page(ctx); s.Broken {
			return page, fault, errGivenUp
		}
	}
	return page, fault, nil
}
