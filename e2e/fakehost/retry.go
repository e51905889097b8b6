package fakehost

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// retryPolicy is the "retry" of a function.json.
type retryPolicy struct {
	most  int // further attempts; -1: for ever
	first time.Duration
	last  time.Duration // of an exponential back-off; 0: all delays are the first one
}

// readRetry reads the policy; nil where there is none.
func readRetry(raw json.RawMessage) (*retryPolicy, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil //nolint:nilnil // no policy is no error
	}
	var file struct {
		Strategy                         string
		MaxRetryCount                    *int
		DelayInterval                    string
		MinimumInterval, MaximumInterval string
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("function.json: retry: %w", err)
	}
	if file.MaxRetryCount == nil {
		return nil, fmt.Errorf("function.json: retry: maxRetryCount is missing")
	}
	policy := &retryPolicy{most: *file.MaxRetryCount}
	var err error
	switch file.Strategy {
	case "fixedDelay":
		policy.first, err = parseTimeSpan(file.DelayInterval)
	case "exponentialBackoff":
		if policy.first, err = parseTimeSpan(file.MinimumInterval); err == nil {
			policy.last, err = parseTimeSpan(file.MaximumInterval)
		}
	default:
		return nil, fmt.Errorf("function.json: retry: strategy %q", file.Strategy)
	}
	if err != nil {
		return nil, fmt.Errorf("function.json: retry: %w", err)
	}
	return policy, nil
}

// delay is the pause before a further attempt; the first of them has the number 1.
func (p *retryPolicy) delay(attempt int) time.Duration {
	if p.last == 0 {
		return p.first
	}
	return min(p.first<<min(attempt-1, 30), p.last)
}

// attempts posts an invocation until it succeeds or the function's policy is used up. All attempts have one
// invocation id.
func (h *Host) attempts(ctx context.Context, f function, inv Invocation) Result {
	id := newID()
	if f.retry != nil {
		inv.MaxRetry = f.retry.most
	}
	for attempt := 0; ; attempt++ {
		result := Result{InvocationID: id, Attempts: attempt + 1}
		if attempt > 0 {
			inv.Retry++
		}
		body, err := inv.body(f, time.Now())
		if err != nil {
			result.Why = err.Error()
			return result
		}
		result = h.invoke(ctx, result, f, body)
		if result.Succeeded || f.retry == nil || attempt == f.retry.most || ctx.Err() != nil {
			return result
		}
		select {
		case <-time.After(f.retry.delay(attempt + 1)):
		case <-ctx.Done():
			return result
		}
	}
}

// retryContext is what a function with a retry policy is told with every attempt, the first included.
type retryContext struct {
	RetryCount    int
	MaxRetryCount int
	Exception     *exception
	Instance      any
	State         struct{}
}

// exception is a .NET exception as Newtonsoft.Json writes it.
type exception struct {
	ClassName, Message     string
	Data                   any
	InnerException         *exception
	HelpURL                any
	StackTraceString       string
	RemoteStackTraceString any
	RemoteStackIndex       int
	ExceptionMethod        any
	HResult                int
	Source                 string
	WatsonBuckets          any
}

// failed is the exception of a failed invocation.
func failed(function string) *exception {
	of := func(class, message, source string, hresult int, inner *exception) *exception {
		return &exception{
			ClassName: class, Message: message, InnerException: inner, HResult: hresult, Source: source,
			StackTraceString: fmt.Sprintf("   at %s.InvokeAsync(Object instance, Object[] arguments)\r\n"+
				"--- End of stack trace from previous location ---\r\n   at %s", source, class),
		}
	}
	return of("Microsoft.Azure.WebJobs.Host.FunctionInvocationException",
		"Exception while executing function: Functions."+function,
		"Microsoft.Azure.WebJobs.Host", -2146233088,
		of("System.Net.Http.HttpRequestException",
			"Response status code does not indicate success: 500 (Internal Server Error).",
			"System.Net.Http", -2146233088, nil))
}
