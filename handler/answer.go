package handler

import (
	"net/http"
	"strings"

	"github.com/rowrelay/rowrelay/poller"
)

// reasonPanic is the reason of a tick that panicked.
const reasonPanic = "panic"

// answer is every body that the handler sends. The zero answer is {}, the host's full success.
type answer struct {
	Error    string    `json:"error,omitempty"`
	Failures []failure `json:"failures,omitempty"`
}

// failure is one output's failed tick, for whoever invoked by hand: the host discards it.
type failure struct {
	Poller string       `json:"poller"`
	Output string       `json:"output,omitempty"`
	Event  poller.Event `json:"event"`
	Error  string       `json:"error"`
	Next   string       `json:"next"`
}

// answerFor is the one mapping of a tick's ends to HTTP: 500 when any output failed, otherwise 200.
func answerFor(reports []poller.Report, outbox bool) (int, answer) {
	var said answer
	for i := range reports {
		r := &reports[i]
		if r.Failed() {
			said.Failures = append(said.Failures, failure{r.Poller, r.Output, r.Event, errorText(r), next(r, outbox)})
		}
	}
	if len(said.Failures) == 0 {
		return http.StatusOK, said
	}
	said.Error = "the tick failed; what was not acknowledged will be delivered again"
	return http.StatusInternalServerError, said
}

// answerForCleanup is the same for a clean-up.
func answerForCleanup(err error) (int, answer) {
	if err != nil {
		return http.StatusInternalServerError, answer{Error: err.Error()}
	}
	return http.StatusOK, answer{}
}

func errorText(r *poller.Report) string {
	if r.Err == nil {
		return string(r.Event)
	}
	return r.Err.Error()
}

// next is what the operator should do about a failed tick; the error beside it says what is wrong.
func next(r *poller.Report, outbox bool) string {
	if outbox {
		if text := nextOutbox(r); text != "" {
			return text
		}
	}
	p := "pollers__" + r.Poller + "__"
	document := poller.Address(r.Poller, r.Output)
	switch r.Event {
	case poller.LeaseAcquireFailed, poller.CheckpointLoadFailed, poller.CommitFailed:
		return "nothing was lost, and the next tick tries again; if it lasts, do as the error says, or check the state store: " +
			"state__connection, its container, the identity's role, the network"
	case poller.FetchFailed:
		return "nothing was lost, and the next tick tries again; if it lasts, check the database of " + p +
			"source__connection: its network, login and permissions"
	case poller.NormalizeFailed:
		return "what cannot be read waits until the source changes, a parked row alone, another one with all that comes after it: " +
			"mend the row, or cast or leave out the column that the error names (" + p + "source__columns, or a view)"
	case poller.HandlerFailed:
		return nextDelivery(r, p)
	case poller.LostLease:
		return "nothing was lost: another instance took over, or this one could not renew its lease in time (the error says which), " +
			"and these rows are delivered again; if it recurs, look at the way to the state store, or raise " + p +
			"lease_ttl, or lower its batch_size"
	case poller.FingerprintMismatch:
		return "the source's definition changed: undo the change, or go on at the stored position with `rowrelay state " +
			"accept-fingerprint " + document + "`, or start over as the error says"
	case poller.SourceGap:
		return "the source is not the one that the checkpoint was taken from, or changes are missing (a restore, failover, truncation, " +
			"purge): compare, then do as the error says; `rowrelay state accept-gap " + document + "` goes on, and says first from " +
			"where and what that skips"
	case poller.StateGone:
		return "find out who deleted it, and restore it from its copy: the poller goes on by itself; to deliver everything from " + p +
			"source__start on instead, start this process anew"
	case poller.ConfigInvalid:
		// Nothing of purging here: a wrong password is no reason to drop parked rows. An error that is about one says so.
		return "mend the settings that the error names (`rowrelay check` shows them all); until then every tick fails"
	case poller.TickComplete, poller.FetchEmpty, poller.LeaseAcquireSkipped, poller.Paused:
		return ""
	default:
		return "run `rowrelay check`"
	}
}

// nextOutbox is what differs for an outbox, which has no state document and no checkpoint; "" where nothing does.
func nextOutbox(r *poller.Report) string {
	p := "pollers__" + r.Poller + "__"
	switch r.Event {
	case poller.LeaseAcquireFailed, poller.CheckpointLoadFailed, poller.FetchFailed, poller.CommitFailed:
		return "nothing was lost, and the next tick tries again; if it lasts, check the database of " + p +
			"source__connection: its " +
			"network, login and permissions on the outbox and " + p + "source__claims_table (`rowrelay check " + r.Poller + "`)"
	case poller.LostLease:
		return "nothing was lost: another instance took over, or this one could not renew its claims in time (the error says which), and " +
			"these events are published again; if it recurs, raise " + p + "source__claim_ttl, or lower " + p + "batch_size"
	case poller.HandlerFailed:
		if r.Reason == poller.Refused.String() || r.Reason == poller.Impossible.String() {
			return "the destination refuses an event (the error says which, and why): look at it with `rowrelay outbox list " +
				r.Poller +
				"`, then mend the receiver, or give it up with `rowrelay outbox discard " + r.Poller + "`; after " + p +
				"max_attempts it becomes a dead letter"
		}
	}
	return ""
}

func nextDelivery(r *poller.Report, p string) string {
	if r.Remedy != "" { // the output names its settings without the poller's prefix
		return strings.ReplaceAll(r.Remedy, "output__", p+outputPrefix(r.Output))
	}
	switch r.Reason {
	case poller.Refused.String():
		return "the destination refuses an event (the error says what the poller waits for): look at its answer, then mend the receiver, " +
			"the row, or " + p + "source__where; after " + p + "max_attempts it becomes a dead letter"
	case poller.Impossible.String():
		return "an event cannot be sent at all (the error says what the poller waits for): shrink the row (" + p +
			"source__columns) or choose another output or format; after " + p + "max_attempts it becomes a dead letter"
	case "":
		return "do as the error says; nothing was acknowledged that was not settled, and the next tick tries again"
	case reasonPanic:
		return "the process goes on, and the next tick tries again; report the stack as a bug of rowrelay"
	default:
		return "nothing was acknowledged that was not accepted, no attempt was counted, and it is tried again; if it lasts, mend " +
			"the receiver, or check the way to it and its settings, " + p + outputPrefix(r.Output) + "…"
	}
}

// outputPrefix is how an output's settings begin: the default output has no name.
func outputPrefix(output string) string {
	if output == "" {
		return "output__"
	}
	return "outputs__" + output + "__"
}
