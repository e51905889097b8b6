package fakehost

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Invocation is how one invocation is encoded. The zero value is a timer whose status is known, as an object.
type Invocation struct {
	// AsString sends the timer as a JSON string that contains the object.
	AsString bool
	// NoStatus sends ScheduleStatus null: a schedule under a minute, or useMonitor false.
	NoStatus bool
	// NeverRan sends 0001-01-01T00:00:00, without a zone, for what never happened.
	NeverRan bool
	// PastDue says that a tick was missed before the host's start.
	PastDue bool
	// Retry is sent as the RetryContext of a retry policy when it is over 0, out of five.
	Retry int
	// Message is the queue message of a queueTrigger function.
	Message string
}

// Variants are all encodings of a timer that a handler must take, by name.
func Variants() map[string]Invocation {
	return map[string]Invocation{
		"object":                 {},
		"string":                 {AsString: true},
		"no status":              {NoStatus: true},
		"no status, as a string": {NoStatus: true, AsString: true},
		"never ran":              {NeverRan: true},
		"never ran, as a string": {NeverRan: true, AsString: true},
		"past due":               {PastDue: true},
		"retry":                  {Retry: 2},
	}
}

// never is .NET's default date: it has no zone, which Go's time.Time does not read.
const never = "0001-01-01T00:00:00"

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

type retryContext struct {
	RetryCount    int
	MaxRetryCount int
	Exception     struct{ Message string }
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
			info.ScheduleStatus.Last, info.ScheduleStatus.LastUpdated = never, never
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
	return encode(map[string]any{f.trigger: data}, metadata)
}

// queueBody encodes a queue message: the text as JSON in a string, and so each scalar of the metadata.
func (inv Invocation) queueBody(f function, now time.Time) ([]byte, error) {
	metadata := inv.metadata(f, now)
	for name, value := range map[string]any{
		"DequeueCount": 1, "Id": newID(), "PopReceipt": "AgAAAAMAAAAAAAAA", "QueueTrigger": inv.Message,
	} {
		text, err := jsonText(value)
		if err != nil {
			return nil, err
		}
		metadata[name] = text
	}
	// An instant is not wrapped a second time.
	metadata["InsertionTime"], metadata["ExpirationTime"] = hostTime(now), hostTime(now.Add(time.Hour))
	item, err := jsonText(inv.Message)
	if err != nil {
		return nil, err
	}
	return encode(map[string]any{f.trigger: item}, metadata)
}

func (inv Invocation) metadata(f function, now time.Time) map[string]any {
	metadata := map[string]any{"sys": map[string]any{
		"MethodName": f.name, "UtcNow": now.Format("2006-01-02T15:04:05.0000000Z"), "RandGuid": newID(),
	}}
	if inv.Retry > 0 {
		retry := retryContext{RetryCount: inv.Retry, MaxRetryCount: 5}
		retry.Exception.Message = "Response status code does not indicate success: 500 (Internal Server Error)."
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

func jsonText(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("fakehost: encode the invocation: %w", err)
	}
	return string(text), nil
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
