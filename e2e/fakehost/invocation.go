package fakehost

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Invocation is how one invocation is encoded. The zero value is a timer whose status is known, as an object.
type Invocation struct {
	// AsString sends the timer as a JSON string that contains the object.
	AsString bool
	// NoStatus sends ScheduleStatus null: a schedule under a minute, or useMonitor false.
	NoStatus bool
	// NeverRan sends 0001-01-01T00:00:00+00:00 for what never happened.
	NeverRan bool
	// Zoneless leaves the zone out of that.
	Zoneless bool
	// PastDue says that a tick was missed before the host's start.
	PastDue bool
	// MaxRetry is the maxRetryCount of a retry policy, and Retry the number of the attempt under it, 0 for the first.
	// A function whose function.json has a policy has both by itself. Without a policy MaxRetry is 0, and no
	// RetryContext is sent.
	MaxRetry, Retry int
	// Input is the input of a call by hand, through the admin interface; nil: the trigger fired by itself.
	Input *string
	// Message is the queue message of a queueTrigger function.
	Message string
}

// Variants are all encodings of a timer that a handler must take, by name.
func Variants() map[string]Invocation {
	empty, object := "", `{"a":1}`
	return map[string]Invocation{
		"object":                 {},
		"string":                 {AsString: true},
		"no status":              {NoStatus: true},
		"no status, as a string": {NoStatus: true, AsString: true},
		"never ran":              {NeverRan: true},
		"never ran, as a string": {NeverRan: true, AsString: true},
		"never ran, no zone":     {NeverRan: true, Zoneless: true},
		"past due":               {PastDue: true},
		"first of a policy":      {MaxRetry: 5},
		"retry":                  {MaxRetry: 5, Retry: 2},
		"by hand":                {Input: &empty},
		"by hand, with input":    {Input: &object},
	}
}

// never is .NET's default date. Without its zone Go's time.Time does not read it.
const (
	never         = zonelessNever + "+00:00"
	zonelessNever = "0001-01-01T00:00:00"
)

type timerInfo struct {
	Schedule struct {
		AdjustForDST bool
	}
	ScheduleStatus *scheduleStatus
	IsPastDue      bool
}

type scheduleStatus struct {
	Last, Next, LastUpdated string
}

// body is what the host posts for an invocation of f at now.
func (inv Invocation) body(f function, now time.Time) ([]byte, error) {
	now = now.UTC()
	if f.kind == "queueTrigger" {
		return inv.queueBody(f, now)
	}
	info := timerInfo{IsPastDue: inv.PastDue}
	info.Schedule.AdjustForDST = true
	if !inv.NoStatus {
		last := hostTime(now.Add(-time.Minute))
		info.ScheduleStatus = &scheduleStatus{Last: last, Next: hostTime(now), LastUpdated: last}
		if inv.NeverRan {
			text := never
			if inv.Zoneless {
				text = zonelessNever
			}
			info.ScheduleStatus.Last, info.ScheduleStatus.LastUpdated = text, text
		}
	}
	var data any = info
	if inv.AsString {
		text, err := json.Marshal(info)
		if err != nil {
			return nil, fmt.Errorf("fakehost: encode the timer: %w", err)
		}
		data = string(text)
	}
	metadata := inv.metadata(f, now)
	if inv.Input != nil { // the timer is made anew, and the input is only told
		text, err := jsonText(*inv.Input)
		if err != nil {
			return nil, err
		}
		metadata[f.trigger] = text
	}
	return encode(map[string]any{f.trigger: data}, metadata)
}

// queueBody encodes a queue message: the text as JSON in a string, and so each scalar of the metadata. The members of
// a message that is a JSON object stand there too, in the place of the message's own properties.
func (inv Invocation) queueBody(f function, now time.Time) ([]byte, error) {
	binding := bindingData{}
	for name, value := range map[string]string{"Id": newID(), "PopReceipt": "AgAAAAMAAAAAAAAA"} {
		if err := binding.text(name, value); err != nil {
			return nil, err
		}
	}
	binding["DequeueCount"] = "1"
	// An instant is not wrapped a second time.
	binding["InsertionTime"], binding["ExpirationTime"], binding["NextVisibleTime"] = hostTime(now),
		hostTime(now.Add(time.Hour)), hostTime(now.Add(10*time.Minute))
	if err := binding.members(inv.Message); err != nil {
		return nil, err
	}
	item, err := jsonText(inv.Message)
	if err != nil {
		return nil, err
	}
	return encode(map[string]any{f.trigger: item}, binding.and(inv.metadata(f, now)))
}

func (inv Invocation) metadata(f function, now time.Time) map[string]any {
	metadata := map[string]any{"sys": map[string]any{
		"MethodName": f.name, "UtcNow": now.Format("2006-01-02T15:04:05.0000000Z"), "RandGuid": newID(),
	}}
	if inv.MaxRetry != 0 {
		retry := retryContext{RetryCount: inv.Retry, MaxRetryCount: inv.MaxRetry}
		if inv.Retry > 0 {
			retry.Exception = failed(f.name)
		}
		metadata["RetryContext"] = retry
	}
	return metadata
}

func encode(data, metadata map[string]any) ([]byte, error) {
	body, err := json.Marshal(struct{ Data, Metadata map[string]any }{data, metadata})
	if err != nil {
		return nil, fmt.Errorf("fakehost: encode the invocation: %w", err)
	}
	return body, nil
}

// hostTime writes a DateTimeOffset as the host does.
func hostTime(t time.Time) string { return t.Format("2006-01-02T15:04:05.0000000-07:00") }

// newID is a random id in the form of a GUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// traceParent is a W3C trace context of somebody else's trace.
func traceParent() string {
	id := strings.ReplaceAll(newID(), "-", "")
	return "00-" + id + "-" + id[:16] + "-01"
}
