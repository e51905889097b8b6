package status

import (
	"context"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// writers are the notes that are read or written at a time.
const writers = 8

// NewRecorder returns a Recorder. Close it when no tick runs any more.
func NewRecorder(cfg RecorderConfig) *Recorder {
	return &Recorder{cfg: cfg, wake: make(chan struct{}, 1), sheets: map[[2]string]*sheet{}}
}

// Observe takes the report of a tick, and what its log line said to do. It returns at once.
func (c *Recorder) Observe(r *poller.Report, mend string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	who := [2]string{r.Poller, r.Output}
	s := c.sheets[who]
	if s == nil {
		s = &sheet{key: NoteKey(c.cfg.App, r.Poller, r.Output)}
		c.sheets[who] = s
	}
	if !r.Failed() && r.Staleness == 0 {
		s.good = r.Ended
	}
	var before Note
	if s.note != nil {
		before = *s.note
	}
	told := *r // by the store's clock, as every instance's notes are: they are compared by their times
	told.Started, told.Ended = r.Started.Add(c.clockLag), r.Ended.Add(c.clockLag)
	if !r.DrainedAt.IsZero() {
		told.DrainedAt = r.DrainedAt.Add(c.clockLag)
	}
	note, tells := before.after(&told, mend, c.cfg.Instance)
	if !tells {
		return
	}
	if c.cfg.SilentAfter != nil {
		note.SilentAfter = c.cfg.SilentAfter(r.Poller).Seconds()
	}
	if c.cfg.IdleAfter != nil {
		note.IdleAfter = c.cfg.IdleAfter(r.Poller).Seconds()
	}
	s.note = &note
	s.worked = s.worked || r.Rows > 0 || r.Rejected > 0 || len(r.DeadLettered) > 0 || r.Failed() || note.HeldBack != nil
	s.reread = s.reread || r.Ended.Sub(s.readAt) >= rereadEvery
	if c.cfg.Store == nil {
		return
	}
	if c.ending == nil {
		ctx, cancel := context.WithCancel(context.Background())
		c.ending, c.ended = cancel, make(chan struct{})
		go c.keep(ctx)
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// seen is what this process knows of an output's ticks: nil where none has told anything. good is when one last ended
// well; the zero time where none has.
func (c *Recorder) seen(name, output string) (note *Note, good time.Time) {
	if c == nil {
		return nil, time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sheets[[2]string{name, output}]
	if s == nil {
		return nil, time.Time{}
	}
	return s.note, s.good // a note is replaced, never changed
}

// Followed says that ticks go on in this process, after a reload: Close does not note their end then.
func (c *Recorder) Followed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg.Alone = false
}

// Close writes what is still to be written, within a few seconds, and ends. Where the ticks end with the process, that
// is noted: a sign of life that cannot come is not waited for.
func (c *Recorder) Close() {
	c.mu.Lock()
	c.closed = true
	if c.cfg.Alone {
		c.stopped()
	}
	ending, ended := c.ending, c.ended
	c.mu.Unlock()
	if ending == nil {
		return
	}
	ending()
	ctx, cancel := context.WithTimeout(context.Background(), lastBound)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done(): // the store does not even look at its context: what is left is not noted
		return
	}
	var left []*sheet
	for _, s := range c.all() {
		if s.unwritten() {
			left = append(left, s)
		}
	}
	c.updateAll(ctx, left)
}

// stopped notes that no tick follows. What another process has noted of a later tick stands.
func (c *Recorder) stopped() {
	at := time.Now().UTC().Add(c.clockLag)
	for _, s := range c.sheets {
		if s.note != nil && s.note.SilentAfter > 0 {
			note := *s.note
			note.Stopped = &at
			s.note = &note
		}
	}
}

// keep reads and writes when it is time, until ctx ends.
func (c *Recorder) keep(ctx context.Context) {
	defer close(c.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
		}
		next := noteEvery
		err := guarded(func() error {
			c.updateAll(ctx, c.ripe())
			next = c.next()
			return nil
		})
		c.failed("", err)
		timer.Reset(next)
	}
}

// ripe are the sheets that are to be read or written now.
func (c *Recorder) ripe() []*sheet {
	var ripe []*sheet
	for _, s := range c.all() {
		if at, ok := c.due(s); ok && !time.Now().Before(at) {
			ripe = append(ripe, s)
		}
	}
	return ripe
}

// next is how long nothing is to be done, unless a tick ends.
func (c *Recorder) next() time.Duration {
	next := time.Hour
	for _, s := range c.all() {
		if at, ok := c.due(s); ok {
			next = min(next, max(time.Until(at), 0))
		}
	}
	return next
}

// updateAll updates sheets, a few at a time, until ctx ends.
func (c *Recorder) updateAll(ctx context.Context, sheets []*sheet) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, writers)
	for _, s := range sheets {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			c.failed(s.key, guarded(func() error {
				c.update(ctx, s)
				return nil
			}))
		})
	}
	wg.Wait()
}

func (c *Recorder) all() []*sheet {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*sheet, 0, len(c.sheets))
	for _, s := range c.sheets {
		all = append(all, s)
	}
	return all
}

// due is when a sheet is to be read or written next.
func (c *Recorder) due(s *sheet) (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.note == nil:
		return at, false
	case s.readAt.IsZero(), s.reread:
		at = s.readAt
	case s.note.replaces(&s.stored, false):
		at = s.wrote.Add(noteSoon)
	case s.note.replaces(&s.stored, s.worked):
		at = s.wrote.Add(noteEvery)
	default:
		return at, false
	}
	if again := s.tried.Add(noteEvery); !s.tried.IsZero() && again.After(at) {
		at = again
	}
	return at, true
}

// unwritten reports whether something is to be written. Only the goroutine that writes may ask.
func (s *sheet) unwritten() bool {
	return s.note != nil && (s.readAt.IsZero() || s.note.replaces(&s.stored, s.worked))
}
