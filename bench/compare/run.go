package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rowrelay/rowrelay/bench/lab"
)

// result is one run of a contender.
type result struct {
	drain  tally // what was there at its start
	peace  tally // live events
	killed tally // live events while it is killed
}

func run(ctx context.Context, o options, c contender) (r result, err error) {
	db, err := lab.NewDatabase(ctx)
	if err != nil {
		return r, err
	}
	defer db.Drop()
	dir, err := os.MkdirTemp("", "rowrelay-compare")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	to, err := newReceiver(o.think)
	if err != nil {
		return r, err
	}
	defer func() { _ = to.close() }()
	at := place{db, to.url, dir, o}
	from, err := newSource(ctx, db)
	if err != nil {
		return r, err
	}
	if err := c.init(ctx, at); err != nil {
		return r, err
	}
	from.insert = c.insert
	if err := from.backlog(ctx, o.backlog); err != nil {
		return r, err
	}
	if _, err := db.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return r, err
	}

	p, err := start(c, at)
	if err != nil {
		return r, err
	}
	defer p.stop()
	if err := to.quiet(ctx, o, len(from.events)); err != nil {
		return r, err
	}
	if err := p.alive(); err != nil {
		return r, err
	}
	if r.drain = to.judge(from.events, 0, o.backlog); r.drain.lost == r.drain.events {
		p.stop() // then it says nothing more
		return r, fmt.Errorf("nothing arrived: is it set up?\n%.4000s", p.said)
	}

	first, end, err := from.live(ctx, o)
	if err = errors.Join(err, to.quiet(ctx, o, len(from.events)-r.drain.lost)); err != nil {
		return r, err
	}
	r.peace = to.judge(from.events, first, end)

	killing, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.killed(killing, o.kill) }()
	first, end, err = from.live(ctx, o)
	stop()
	if err = errors.Join(err, <-ended, to.quiet(ctx, o, len(from.events)-r.drain.lost-r.peace.lost)); err != nil {
		return r, err
	}
	r.killed = to.judge(from.events, first, end)
	return r, p.alive()
}

// quiet waits until so many different events have arrived and nothing more comes, or nothing has come for so long that
// the missing ones count as lost.
func (r *receiver) quiet(ctx context.Context, o options, events int) error {
	const still = 2 * time.Second // for what comes again
	last, since := -1, time.Now()
	for {
		different, all := r.count()
		if all != last {
			last, since = all, time.Now()
		}
		if gone := time.Since(since); gone > o.patience || different >= events && gone > still {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// process is a contender at work.
type process struct {
	contender contender
	at        place
	cmd       *exec.Cmd
	said      *bytes.Buffer
	ended     chan struct{} // closed when it has ended
}

func start(c contender, at place) (*process, error) {
	p := &process{contender: c, at: at}
	return p, p.start()
}

func (p *process) start() error {
	p.cmd, p.said, p.ended = p.contender.command(p.at), &bytes.Buffer{}, make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(p.cmd, p.ended)
	return nil
}

// alive is an error if it has ended by itself.
func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("it ended by itself: %s\n%.4000s", p.cmd.ProcessState, p.said)
	default:
		return nil
	}
}

// killed kills it again and again until ctx ends. It runs afterwards.
func (p *process) killed(ctx context.Context, every time.Duration) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		if err := p.alive(); err != nil {
			return err
		}
		_ = p.cmd.Process.Kill()
		<-p.ended
		if err := p.start(); err != nil {
			return err
		}
	}
}

// stop ends it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	<-p.ended
}

// show prints the medians of what was measured, and the sums of what was counted.
func show(o options, chosen []contender, results [][]result) {
	fmt.Printf("%d rounds in turns. %d events at the start; then %d a second for %s, and once more while the contender\n"+
		"is killed every %s. 1 event in a request unless said, answered after %s; they look for more every %s.\n"+
		"Medians; counts are sums of all rounds.\n\n", o.rounds, o.backlog, o.rate, o.live, o.kill, o.think, o.poll)
	columns := []string{"", "order that it promises", "events/s at the start", "p50, p99 in ms",
		"LOST", "DUPLICATED", "INVERTED", "killed: LOST", "DUPLICATED", "INVERTED", "stood still"}
	fmt.Printf("| %s |\n%s|\n", strings.Join(columns, " | "), strings.Repeat("|---", len(columns)))
	for i, c := range chosen {
		all := results[i]
		fmt.Printf("| %s | %s | %.0f | %d, %d | %s | %s | %.1f s |\n", c.name, c.promise,
			middle(all, func(r result) float64 {
				return float64(r.drain.events-r.drain.lost) / r.drain.took.Seconds()
			}),
			middle(all, func(r result) time.Duration { return r.peace.p50 }).Milliseconds(),
			middle(all, func(r result) time.Duration { return r.peace.p99 }).Milliseconds(),
			counts(all, func(r result) tally { return r.peace }), counts(all, func(r result) tally { return r.killed }),
			middle(all, func(r result) time.Duration { return r.killed.still }).Seconds())
	}
}

func counts(all []result, phase func(result) tally) string {
	var t tally
	for _, r := range all {
		p := phase(r)
		t.events += p.events
		t.lost += p.lost
		t.duplicated += p.duplicated
		t.inverted += p.inverted
	}
	return fmt.Sprintf("%d of %d | %d | %d", t.lost, t.events, t.duplicated, t.inverted)
}

func middle[T cmp.Ordered](all []result, value func(result) T) T {
	var values []T
	for _, r := range all {
		values = append(values, value(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
