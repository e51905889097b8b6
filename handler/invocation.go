package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

// Invocation is what a tick wants to know of the invocation that started it. Nothing in it decides what the tick does:
// it is for the log line.
type Invocation struct {
	// ID is the host's invocation id; "" where there is no host.
	ID string
	// PastDue says that the timer is catching up after a start.
	PastDue bool
	// Retry and MaxRetry come from the function's retry policy; both 0 without one.
	Retry, MaxRetry int
}

// decodeInvocation reads the host's envelope. The envelope must be a JSON object; whatever is inside is read as far as
// it is understood: the host encodes one value as an object, as a string of JSON, or as null, depending on its version,
// the schedule and the binding, and none of that is a reason to leave rows lying.
func decodeInvocation(body []byte) (Invocation, error) {
	var envelope struct {
		Data     json.RawMessage
		Metadata json.RawMessage
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' {
		return Invocation{}, fmt.Errorf("the body is not an invocation: it must be a JSON object with Data and Metadata")
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return Invocation{}, fmt.Errorf("the body is not an invocation: %w", err)
	}
	var inv Invocation
	for _, binding := range object(envelope.Data) {
		timer := object(binding)
		if _, ok := timer["ispastdue"]; !ok {
			continue // not a timer: an input binding, or a queue's message
		}
		inv.PastDue, _ = strconv.ParseBool(scalar(timer["ispastdue"]))
	}
	retry := object(object(envelope.Metadata)["retrycontext"])
	inv.Retry = number(retry["retrycount"])
	inv.MaxRetry = number(retry["maxretrycount"])
	// RetryContext.Exception is left alone: it is what the earlier attempt's own line said, as the host retold it.
	return inv, nil
}

// traced returns ctx with the W3C trace context of the invocation, where the host sent one: a tick's span becomes a
// part of that trace. Hosts that send none, or nonsense, leave it as it is.
func traced(ctx context.Context, header http.Header) context.Context {
	if header.Get("Traceparent") == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
}

// triggerOf returns the value of the invocation's only binding, which for a queue trigger is the message: JSON text in
// a JSON string, or in a string within that; nil where there is none, or more than one.
func triggerOf(body []byte) json.RawMessage {
	var envelope struct {
		Data map[string]json.RawMessage
	}
	if json.Unmarshal(body, &envelope) != nil || len(envelope.Data) != 1 {
		return nil
	}
	for _, value := range envelope.Data {
		return value
	}
	return nil
}

// object reads a JSON object, or a JSON string that contains one, with its names in lower case; nil for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(inner(raw), &members) != nil {
		return nil
	}
	lower := make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		lower[strings.ToLower(name)] = value
	}
	return lower
}

// inner takes JSON out of the JSON strings that it was wrapped in; twice at most, as no host wraps deeper.
func inner(raw json.RawMessage) json.RawMessage {
	for range 2 {
		var text string
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
			return raw
		}
		if !json.Valid([]byte(text)) {
			return raw
		}
		raw = bytes.TrimSpace([]byte(text))
	}
	return raw
}

// scalar reads a string, number or boolean as text, however often it was wrapped; "" for null and for what is absent.
func scalar(raw json.RawMessage) string {
	raw = inner(raw)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

func number(raw json.RawMessage) int {
	n, err := strconv.Atoi(scalar(raw))
	if err != nil {
		return 0
	}
	return n
}

// clip bounds a string that came from outside before it is logged.
func clip(s string, limit int) string {
	if len(s) > limit {
		return s[:limit]
	}
	return s
}
