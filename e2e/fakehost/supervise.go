package fakehost

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// supervise starts a new worker whenever one has ended, by the host's rules.
func (h *Host) supervise(w *worker) {
	defer close(h.closed)
	for {
		<-w.exited
		err := h.judgeExit(w, time.Now())
		switch {
		case errors.Is(err, errZombie):
			h.mu.Lock()
			h.zombie = true
			h.announce()
			h.mu.Unlock()
			return
		case err != nil:
			h.stop(err)
			return
		}
		h.client.CloseIdleConnections() // the next worker binds the port of this one
		next, err := h.start()
		if err != nil {
			h.stop(err)
			return
		}
		h.mu.Lock()
		h.worker = next
		h.restarts++
		closing := h.stopped != nil
		h.announce()
		h.mu.Unlock()
		if closing { // stopped between the judgment and the start: nobody else knows this process
			next.kill()
		}
		w = next
	}
}

// judgeExit says why there will be no further worker, or nil.
func (h *Host) judgeExit(w *worker, now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.stopped != nil:
		return h.stopped
	case w.killed.Load(), w.code == exitForRestart:
		return nil
	case w.code == 0 && h.options.ZeroRestarts:
		return nil
	case w.code == 0:
		return errZombie
	}
	// Exits that lie further apart than the window begin the count anew.
	if n := len(h.exits); n > 0 && now.Sub(h.exits[n-1]) > exitWindow {
		h.exits = nil
	}
	h.exits = append(h.exits, now)
	if len(h.exits) >= exitsBeforeStop {
		return fmt.Errorf("exceeded http worker restart retry count, shutting down Functions Host: the last exit code was %d",
			w.code)
	}
	return nil
}

// stop ends the restarting; the first reason stays.
func (h *Host) stop(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped == nil {
		h.stopped = err
		h.journal.add("host", err.Error())
		h.announce()
	}
}

// announce wakes those who wait for a change; the lock is held.
func (h *Host) announce() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *Host) current() *worker {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worker
}

// target is the worker that invocations go to: one that answers, or what the host takes for one.
func (h *Host) target(ctx context.Context) (*worker, error) {
	w, err := h.ready(ctx)
	if errors.Is(err, errZombie) {
		err = nil
	}
	return w, err
}

// ready waits for a worker that answers.
func (h *Host) ready(ctx context.Context) (*worker, error) {
	for {
		h.mu.Lock()
		w, stopped, zombie, changed := h.worker, h.stopped, h.zombie, h.changed
		h.mu.Unlock()
		switch {
		case stopped != nil:
			return nil, stopped
		case zombie:
			return w, errZombie
		}
		select {
		case <-w.exited:
			// Its successor is announced, or the end.
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, fmt.Errorf("wait for a new worker: %w", context.Cause(ctx))
			}
			continue
		default:
		}
		select {
		case <-w.ready:
			return w, nil
		case <-w.exited:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the worker: %w", context.Cause(ctx))
		}
	}
}

// exitNotice is how long a worker that dropped a connection is given to turn out to have ended.
const exitNotice = time.Second

// settle is called after a connection broke: where the worker has ended, it waits until the host has noticed, so that
// what a test asks next (Restarts, Stopped, another Invoke) does not meet the dead worker.
func (h *Host) settle(ctx context.Context, w *worker) {
	notice := time.NewTimer(exitNotice)
	defer notice.Stop()
	select {
	case <-w.exited:
	case <-notice.C:
		return
	case <-ctx.Done():
		return
	}
	for {
		h.mu.Lock()
		current, over, changed := h.worker, h.stopped != nil || h.zombie, h.changed
		h.mu.Unlock()
		if current != w || over {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
