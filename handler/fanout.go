package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// partitionMessage is what the timer function of a poller with fan-out enqueues. It holds nothing that could be lost:
// the rows say what there is to do, and the next timer asks them again.
type partitionMessage struct {
	Poller    string `json:"poller"`
	Partition int    `json:"partition"`
	Of        int    `json:"of"`
}

// fanOut is the timer's tick of a poller with fan-out; it logs and measures its report. It is false where there is
// nothing to divide.
func (h *Handler) fanOut(ctx context.Context, name string, p *Poller, inv Invocation) (report poller.Report,
	done bool) {
	report, partitions, of := h.handOut(ctx, name, p.Fanout)
	if !report.Failed() && of <= 1 {
		return report, false
	}
	h.metrics.Observe(&report)
	defer h.observe(&report, p.Outbox != nil)
	level, more := h.skipped.line(&report, inv)
	if report.Failed() || report.Event == poller.Paused {
		logReport(ctx, h.log, level, &report, inv, p.Outbox != nil, more...)
		return report, true
	}
	for _, text := range report.Warnings {
		h.log.WarnContext(ctx, text, "event", "warning", "poller", name)
	}
	h.metrics.enqueued.WithLabelValues(name).Add(float64(len(partitions)))
	level = slog.LevelDebug
	if len(partitions) > 0 {
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{
		slog.String("event", "fanout_complete"), slog.String("poller", name), slog.Any("partitions", partitions),
		slog.Int("of", of),
		slog.Float64("duration_ms", milliseconds(report.Ended.Sub(report.Started))),
	}
	if inv.ID != "" {
		attrs = append(attrs, slog.String("invocation_id", inv.ID))
	}
	h.log.LogAttrs(ctx, level, "partitions with work were handed out", attrs...)
	return report, true
}

// handOut enqueues a message for each partition with work. A crash between two messages leaves partitions to the next
// timer. Whether the message of the timer before is still queued is not asked: one too many finds its partition held,
// or nothing to do.
func (h *Handler) handOut(ctx context.Context, name string, f *Fanout) (report poller.Report, partitions []int,
	of int) {
	report = newReport(name)
	report.Event, report.Share = poller.FetchEmpty, &poller.Share{Partition: -1}
	fail := func(event poller.Event, reason string, err error) {
		report.Event, report.Reason, report.Err = event, reason, err
	}
	defer func() {
		if r := recover(); r != nil {
			fail(poller.HandlerFailed, reasonPanic, &panicError{value: fmt.Sprint(r), stack: string(debug.Stack())})
		}
		report.Ended = time.Now()
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, f.Timeout,
		fmt.Errorf("the database and the queue took longer than %s", f.Timeout))
	defer cancel()
	partitions, of, err := f.Work(ctx)
	switch {
	case errors.Is(err, poller.ErrConfig):
		fail(poller.ConfigInvalid, "", fmt.Errorf("asking which partitions have work: %w", err))
		return report, nil, of
	case err != nil:
		fail(poller.FetchFailed, "", fmt.Errorf("asking which partitions have work: %w", err))
		return report, nil, of
	case of <= 1:
		return report, nil, of
	}
	h.seen(ctx, f, &report)
	report.Share.Work = partitions
	for i, n := range partitions {
		message, err := json.Marshal(partitionMessage{name, n, of})
		if err == nil {
			err = f.Send(ctx, message)
		}
		if err != nil {
			fail(poller.HandlerFailed, poller.Unavailable.String(),
				fmt.Errorf("%d of %d partitions were handed out: %w", i, len(partitions), err))
			return report, partitions[:i], of
		}
		report.Event = poller.TickComplete
	}
	return report, partitions, of
}

// aboutEvery is how often a timer with fan-out counts its outbox.
const aboutEvery = time.Minute

// seen puts into the report what the outbox holds, and whether it is paused, as of a minute ago at most. That it could
// not be told is no failure: figures are for looking at.
func (h *Handler) seen(ctx context.Context, f *Fanout, report *poller.Report) {
	if f.About == nil {
		return
	}
	h.mu.Lock()
	s := h.fanouts[report.Poller]
	h.mu.Unlock()
	if time.Since(s.at) >= aboutEvery {
		figures, paused, err := f.About(ctx)
		s.at, s.paused = time.Now(), paused && err == nil
		if err == nil {
			report.Outbox = &figures
		} else {
			report.Warnings = append(report.Warnings, fmt.Sprintf("the outbox could not be counted: %v", err))
		}
		h.mu.Lock()
		h.fanouts[report.Poller] = s
		h.mu.Unlock()
	}
	if s.paused {
		report.Event = poller.Paused
	}
}

// partitionOf reads a queue message. Its error says what is wrong with it, without quoting it.
func partitionOf(name string, message json.RawMessage, limit int) (int, error) {
	// A number that the message lacks must not pass for partition 0.
	var m struct {
		Poller    string `json:"poller"`
		Partition *int   `json:"partition"`
	}
	if err := json.Unmarshal(inner(message), &m); err != nil || m.Poller == "" {
		return 0, errors.New(`the message is not {"poller":…,"partition":…,"of":…}`)
	}
	switch {
	case !strings.EqualFold(m.Poller, name):
		return 0, fmt.Errorf("the message is for the poller %q: two pollers share a queue, and each needs its own",
			clip(m.Poller, 64))
	case m.Partition == nil, *m.Partition < 0, *m.Partition >= limit:
		return 0, fmt.Errorf("the message names no partition from 0 to %d", limit-1)
	}
	return *m.Partition, nil
}

// Partition runs a tick of the partition that a queue message names, of a poller with fan-out. A message that makes no
// sense is told and taken for done: nothing is lost with it, and a failure would only move it to the poison queue,
// which nobody empties.
func (h *Handler) Partition(ctx context.Context, name string, message json.RawMessage, inv Invocation) []poller.Report {
	p := h.pollers[name]
	ctx, cancel := h.alive(ctx)
	defer cancel()
	if faults := append(slices.Clone(h.faults), p.Faults...); len(faults) > 0 {
		return h.account(ctx, name, inv, everyOutput(name, p.Outputs, poller.ConfigInvalid, joinFaults(faults)))
	}
	n, err := partitionOf(name, message, p.Fanout.Partitions)
	if err != nil {
		h.log.WarnContext(ctx, "a queue message was dropped", "event", "message_dropped", "poller", name, "error",
			err.Error(), "invocation_id", inv.ID,
			"next", "nothing is lost: the rows say what there is to do; find out who else writes to the queue (source__fanout_queue)")
		return nil
	}
	var reports []poller.Report
	if runner, err := h.partition(name, n); err != nil {
		reports = everyOutput(name, p.Outputs, poller.ConfigInvalid, err)
	} else {
		reports = h.run(ctx, name, Poller{Outputs: p.Outputs, Runner: runner})
	}
	for i := range reports {
		reports[i].Share = &poller.Share{Partition: n}
	}
	return h.account(ctx, name, inv, reports)
}

// partition returns the runner of a partition: always the same, so that a second tick beside the first is skipped.
func (h *Handler) partition(name string, n int) (Runner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := partitionMessage{Poller: name, Partition: n}
	if r := h.partitions[at]; r != nil {
		return r, nil
	}
	r, err := h.pollers[name].Fanout.Partition(n)
	if err != nil {
		return nil, err
	}
	h.partitions[at] = r
	return r, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
