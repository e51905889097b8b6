package handler_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// ticks are the reports of one tick after the other.
func ticks(reports ...poller.Report) runner {
	n := 0
	return func(context.Context) []poller.Report {
		n++
		r := reports[n-1]
		r.Poller, r.Output = "orders", "output"
		return []poller.Report{r}
	}
}

// TestALineSaysNothingThatIsNotKnown: a tick that never came to a batch has no position and no token.
func TestALineSaysNothingThatIsNotKnown(t *testing.T) {
	var c console
	server := serve(t, &c, one(ticks(
		poller.Report{Event: poller.FetchFailed, Err: errors.New("cannot connect")},
		poller.Report{Event: poller.Paused})))
	do(t, "POST", server.URL+"/orders", timer)
	do(t, "POST", server.URL+"/orders", timer)
	lines := append(c.err(), c.out()...)
	if len(lines) != 2 {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	for _, line := range lines {
		for _, member := range []string{"checkpoint_before", "checkpoint_after", "fencing_token", "batch_id"} {
			if value, there := line[member]; there {
				t.Errorf("%s: %s is %v", line["event"], member, value)
			}
		}
	}
}

// TestAPauseIsLoggedOnce: a paused poller of a second would fill the log. The next pause is told again; a tick that
// could not see whether it is paused ends none.
func TestAPauseIsLoggedOnce(t *testing.T) {
	var c console
	paused := poller.Report{Event: poller.Paused, DocumentRead: true}
	server := serve(t, &c, one(ticks(paused, paused,
		poller.Report{Event: poller.CheckpointLoadFailed, Err: errors.New("the store does not answer")}, paused,
		poller.Report{Event: poller.FetchEmpty, DocumentRead: true}, paused, paused)))
	for range 7 {
		do(t, "POST", server.URL+"/orders", timer)
	}
	told := 0
	for _, line := range c.out() {
		if line["level"] == "DEBUG" {
			continue
		}
		if told++; line["event"] != "paused" || line["level"] != "INFO" || line["next"] == nil {
			t.Errorf("%v", line)
		}
	}
	if told != 2 {
		t.Errorf("%d lines of two pauses", told)
	}
}

// TestTheFirstRefusalIsTold: with key, status and reason, before anything is given up.
func TestTheFirstRefusalIsTold(t *testing.T) {
	var c console
	server := serve(t, &c, one(ticks(poller.Report{Event: poller.TickComplete, BatchID: "batch_1", Rows: 5, Rejected: 2,
		Refused: &poller.Refusal{ID: "e1", Key: []byte(`{"id":3}`),
			Rejection: poller.Rejection{Cause: poller.Refused, Status: 422, Reason: "answered 422"}},
		Before: change.Cursor(`{"kind":"integer+pk","value":1}`)})))
	do(t, "POST", server.URL+"/orders", timer)
	told := c.err()
	if len(told) != 1 {
		t.Fatalf("%d lines: %v", len(told), told)
	}
	for member, want := range map[string]any{"level": "WARN", "event": "rejected", "id": "e1", "key": `{"id":3}`,
		"status": 422.0, "error": "answered 422", "reason": "refused", "poller": "orders", "output": "output",
		"msg": "2 events were refused, and are tried again; this is the first"} {
		if told[0][member] != want {
			t.Errorf("%s is %v, want %v", member, told[0][member], want)
		}
	}
}

// TestWhatIsGivenUpIsNotTriedAgain: of an event that this tick gave up no line says that it is tried again.
func TestWhatIsGivenUpIsNotTriedAgain(t *testing.T) {
	refused := &poller.Refusal{ID: "0a1b", Rejection: poller.Rejection{Cause: poller.Refused}}
	dead := []poller.DeadLetter{aDeadLetter(poller.Refused)}
	for rejected, want := range map[int]string{
		1: "", 3: "3 events were refused, and 2 of them are tried again; this is the first",
	} {
		var c console
		server := serve(t, &c, one(ticks(poller.Report{Event: poller.TickComplete, BatchID: "batch_1", Rows: 5,
			Rejected: rejected, Refused: refused, DeadLettered: dead})))
		do(t, "POST", server.URL+"/orders", timer)
		told := ""
		for _, line := range c.err() {
			if line["event"] == "rejected" {
				told += line["msg"].(string)
			}
		}
		if told != want {
			t.Errorf("%d rejected, one given up: %q, want %q", rejected, told, want)
		}
	}
}
