package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
)

// logReport writes one line for the tick of one output, with more at its end, and one for each of its warnings and
// dead letters.
func logReport(ctx context.Context, log *slog.Logger, level slog.Level, r *poller.Report, inv Invocation, outbox bool,
	more ...slog.Attr) {
	who := []slog.Attr{slog.String("poller", r.Poller), slog.String("output", r.Output)}
	if inv.ID != "" {
		who = append(who, slog.String("invocation_id", inv.ID))
	}
	for _, text := range r.Warnings {
		log.LogAttrs(ctx, slog.LevelWarn, text, append([]slog.Attr{slog.String("event", "warning")}, who...)...)
	}
	for i := range r.DeadLettered {
		log.LogAttrs(ctx, slog.LevelError, "an event was given up",
			append(deadLetterAttrs(&r.DeadLettered[i], outbox), who...)...)
	}
	if text := refusedText(r); text != "" {
		log.LogAttrs(ctx, slog.LevelWarn, text, append(refusedAttrs(r.Refused), who...)...)
	}
	log.LogAttrs(ctx, level, message(r), append(append(attrs(r, inv, outbox), who...), more...)...)
}

// refusedText tells of the refused events that are tried again; "" where there is none. What was given up has a line of
// its own.
func refusedText(r *poller.Report) string {
	if r.Refused == nil {
		return ""
	}
	again := r.Rejected
	if slices.ContainsFunc(r.DeadLettered, func(d poller.DeadLetter) bool { return d.Event.ID == r.Refused.ID }) {
		again -= len(r.DeadLettered)
	}
	switch {
	case again <= 0:
		return ""
	case r.Rejected == 1:
		return "an event was refused, and is tried again"
	case again < r.Rejected:
		return fmt.Sprintf("%d events were refused, and %d of them are tried again; this is the first", r.Rejected, again)
	default:
		return fmt.Sprintf("%d events were refused, and are tried again; this is the first", r.Rejected)
	}
}

// refusedAttrs tell of a refused event all but its row.
func refusedAttrs(r *poller.Refusal) []slog.Attr {
	list := []slog.Attr{
		slog.String("event", "rejected"), slog.String("id", r.ID), slog.String("key", string(r.Key)),
		slog.String("reason", r.Cause.String()), slog.String("error", r.Reason),
	}
	if r.Status != 0 {
		list = append(list, slog.Int("status", r.Status))
	}
	return list
}

// deadLetterAttrs tell of a dead letter all but its row.
func deadLetterAttrs(d *poller.DeadLetter, outbox bool) []slog.Attr {
	next := fmt.Sprintf("look at it with `rowrelay deadletter show %[1]s %[2]s` (or in dead_letter__queue), mend the receiver or the row, then `rowrelay "+
		"deadletter replay %[1]s`", poller.Address(d.Poller, d.Output), d.Event.ID)
	switch {
	case outbox:
		next = fmt.Sprintf("look at it with `rowrelay outbox list %s %s`, mend the receiver, then `rowrelay outbox requeue %[1]s %[2]s` publishes it, "+
			"and what waits for it, in order; `rowrelay outbox discard` gives it up", d.Poller, outboxRef(&d.Event))
	case d.Blocks:
		next += ": what comes after it in its order key waits until then (after_dead_letter=block)"
	default:
		next += " (of a queue: `rowrelay backfill`); a row that is corrected is delivered by itself where its cursor moves with that"
	}
	list := []slog.Attr{
		slog.String("event", "dead_lettered"),
		slog.String("id", d.Event.ID),
		slog.String("key", string(d.Event.Key)),
		slog.String("cursor", d.Event.Cursor.String()),
		slog.String("reason", d.Cause.String()),
		slog.String("error", d.Reason),
		slog.Int("attempts", d.Attempts),
		slog.Time("last_attempt", d.Last),
		slog.String("next", next),
	}
	if !d.First.IsZero() { // an outbox and leases on rows know only how many there were
		list = append(list, slog.Time("first_attempt", d.First))
	}
	if d.Status != 0 {
		list = append(list, slog.Int("status", d.Status))
	}
	return list
}

// outboxRef is the flag that names an event's row, as it can be typed into a shell: --id and its seq, or id in a mapped
// table.
func outboxRef(e *change.Event) string {
	var key struct {
		Seq json.Number `json:"seq"`
		ID  string      `json:"id"`
	}
	err := json.Unmarshal(e.Key, &key)
	switch {
	case err == nil && key.Seq != "":
		return "--id " + key.Seq.String()
	case err == nil && key.ID != "":
		return "--id " + plaintext.ShellWord(key.ID)
	case e.Outbox != nil: // no such event is made: its idempotency key is the next best
		return "--key " + plaintext.ShellWord(e.Outbox.IdempotencyKey)
	default:
		return "--key " + plaintext.ShellWord(e.ID)
	}
}

// worthALine is how long rows have to be held back before an idle tick says so: a transaction that is open for a moment
// is nothing to tell.
const worthALine = 10 * time.Second

// leftAlone is for how long a failing source or destination is not asked any more; 0 where it is.
func leftAlone(r *poller.Report) time.Duration {
	if r.RetryAt.IsZero() {
		return 0
	}
	return max(r.RetryAt.Sub(r.Ended), 0)
}

// levelOf ranks a tick's end: failures are errors, work done is worth a line, and an idle tick, which there may be
// one of every second, only where debugging was asked for.
func levelOf(r *poller.Report) slog.Level {
	switch {
	case r.Failed() && !r.RetryAt.IsZero(): // the tick that asked has logged it
		return slog.LevelDebug
	case r.Failed():
		return slog.LevelError
	case r.Event == poller.LeaseAcquireSkipped, r.Event == poller.Paused,
		r.Event == poller.FetchEmpty && r.HeldBack < worthALine:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

func message(r *poller.Report) string {
	switch r.Event {
	case poller.TickComplete:
		return "tick complete"
	case poller.FetchEmpty:
		return "nothing to do"
	case poller.LeaseAcquireSkipped:
		return "skipped: another tick or instance is at work"
	case poller.Paused:
		return "paused by an operator"
	default:
		return "tick failed"
	}
}

func attrs(r *poller.Report, inv Invocation, outbox bool) []slog.Attr {
	list := []slog.Attr{
		slog.String("event", string(r.Event)),
		slog.Int("rows", r.Rows),
		slog.Int("batches", len(r.Batches)),
		slog.Float64("duration_ms", float64(r.Ended.Sub(r.Started).Microseconds())/1000),
	}
	if r.BatchID != "" { // otherwise nothing is known of them, and a beginning would be no position
		list = append(list, slog.String("batch_id", r.BatchID), slog.String("checkpoint_before", r.Before.String()),
			slog.String("checkpoint_after", r.After.String()), slog.Uint64("fencing_token", r.Token))
	}
	if r.Err != nil {
		list = append(list, slog.String("error", r.Err.Error()))
	}
	if r.Reason != "" {
		list = append(list, slog.String("reason", r.Reason))
	}
	if r.Failed() {
		list = append(list, slog.String("next", next(r, outbox)))
	}
	if r.Lag > 0 {
		list = append(list, slog.Float64("lag_seconds", r.Lag.Seconds()))
	}
	list = append(list, policyAttrs(r)...)
	if inv.PastDue {
		list = append(list, slog.Bool("past_due", true))
	}
	if inv.Retry > 0 {
		list = append(list, slog.Int("retry_count", inv.Retry), slog.Int("max_retry_count", inv.MaxRetry))
	}
	var panicked *panicError
	if errors.As(r.Err, &panicked) {
		list = append(list, slog.String("stack", panicked.stack))
	}
	return list
}

// policyAttrs tell what was refused, parked, given up, held back or late, where anything was.
func policyAttrs(r *poller.Report) []slog.Attr {
	var list []slog.Attr
	for _, c := range []struct {
		name string
		n    int
	}{
		{"filtered", r.Filtered}, {"expired", r.Expired}, {"rejected", r.Rejected}, {"parked", r.Parked},
		{"dead_lettered", len(r.DeadLettered)}, {"parked_gone", r.Gone},
		{"late_rows", r.Late}, {"remembered", r.Remembered},
	} {
		if c.n > 0 {
			list = append(list, slog.Int(c.name, c.n))
		}
	}
	if r.HeldBack > 0 {
		list = append(list, slog.Float64("held_back_seconds", r.HeldBack.Seconds()))
		if r.HeldBy != "" {
			list = append(list, slog.String("held_by", r.HeldBy))
		}
	}
	return list
}
