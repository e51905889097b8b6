package fakehost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
)

// Result is what the host makes of an invocation.
type Result struct {
	// Succeeded: the host would record the invocation as a success.
	Succeeded bool
	// Hung: the answer never completes the invocation; the worker is killed when functionTimeout is over.
	Hung bool
	// TimedOut: there was no answer within functionTimeout, and the worker was killed.
	TimedOut bool
	// Why says why the invocation did not succeed.
	Why string
	// InvocationID is the id that was sent, with each attempt.
	InvocationID string
	// Attempts is how often the invocation was posted: more than once under a retry policy only.
	Attempts int
	// Status and Body are the answer; the host shows the body of a failure to nobody.
	Status int
	Body   []byte
	// Outputs are what the host would now write to output bindings, without telling the handler whether it worked.
	Outputs map[string]json.RawMessage
	// ReturnValue would be merged into the outputs.
	ReturnValue json.RawMessage
}

// Lossy names the outputs that a queue binding would change on their way: single strings.
func (r Result) Lossy() []string {
	var names []string
	for name, value := range r.Outputs {
		if value := bytes.TrimSpace(value); len(value) > 0 && value[0] == '"' {
			names = append(names, name)
		}
	}
	return names
}

// String is for test failures.
func (r Result) String() string {
	return fmt.Sprintf("succeeded=%t hung=%t timed_out=%t status=%d why=%q body=%.300q",
		r.Succeeded, r.Hung, r.TimedOut, r.Status, r.Why, r.Body)
}

// invocationResult is the body of a success. Names are compared without regard to case, as the host does.
type invocationResult struct {
	Outputs     map[string]json.RawMessage
	Logs        []string
	ReturnValue json.RawMessage
}

// judge interprets an answer as the host does, and returns the Logs of a success.
func (r *Result) judge(header http.Header) []string {
	if r.Status < 200 || r.Status > 299 {
		r.Why = fmt.Sprintf("Response status code does not indicate success: %d; the body is discarded", r.Status)
		return nil
	}
	// An explicit length of zero is looked at before the media type, an empty chunked body after it.
	if header.Get("Content-Length") == "0" || r.Status == http.StatusNoContent {
		r.hang()
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || (media != "application/json" && media != "text/json") {
		r.Why = fmt.Sprintf("no formatter reads the media type %q", header.Get("Content-Type"))
		return nil
	}
	body := bytes.TrimSpace(r.Body)
	if len(body) == 0 || bytes.Equal(body, []byte("null")) {
		r.hang()
		return nil
	}
	var result invocationResult
	if err := json.Unmarshal(body, &result); err != nil {
		r.Why = fmt.Sprintf("invalid response: %v", err)
		return nil
	}
	r.Succeeded, r.Outputs = true, result.Outputs
	if !bytes.Equal(bytes.TrimSpace(result.ReturnValue), []byte("null")) {
		r.ReturnValue = result.ReturnValue
	}
	return result.Logs
}

func (r *Result) hang() {
	r.Hung = true
	r.Why = "a success without a result: the invocation never completes"
}
