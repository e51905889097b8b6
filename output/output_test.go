package output_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/output"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 49, 37, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, " 5 ": 5 * time.Second, "00030": 30 * time.Second,
		"99999999999999999999": time.Hour, "604800": time.Hour,
		"-1": 0, "1.5": 0, "soon": 0, "١٢": 0,
		"Sat, 21 Nov 2026 08:50:07 GMT":     30 * time.Second,
		"Saturday, 21-Nov-26 08:50:07 GMT":  30 * time.Second,
		"Sat Nov 21 08:50:07 2026":          30 * time.Second,
		"Sat, 21 Nov 2026 08:00:00 GMT":     0,
		"Sat, 21 Nov 2099 08:00:00 GMT":     time.Hour,
		"Sat, 21 Nov 2026 08:50:07 +0100 x": 0,
	} {
		h := http.Header{"Retry-After": {value}}
		if got := output.RetryAfter(h, now); got != want {
			t.Errorf("Retry-After: %q gives %s, want %s", value, got, want)
		}
		// A clock that differs, theirs or ours, makes no wait longer or shorter.
		h.Set("Date", now.Format(http.TimeFormat))
		for _, wrong := range []time.Duration{-6 * time.Hour, 6 * time.Hour} {
			if got := output.RetryAfter(h, now.Add(wrong)); got != want {
				t.Errorf("Retry-After: %q gives %s where the clock is wrong by %s, want %s", value, got, wrong, want)
			}
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "1", "99999999999999999999", "Sat, 21 Nov 2026 08:50:07 GMT", "-1", "0x10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := output.RetryAfter(http.Header{"Retry-After": {value}}, time.Unix(0, 0))
		if got < 0 || got > output.MaxRetryAfter {
			t.Errorf("%q gives %s", value, got)
		}
	})
}

func TestErrorIsOneLineAndReachable(t *testing.T) {
	err := output.Errorf(io.EOF, "a\r\n\tb \x1b[31m %s", strings.Repeat("é", 2000))
	if text := err.Error(); !strings.HasPrefix(text, "a b [31m é") || !strings.HasSuffix(text, "é…") || len(text) > 1030 {
		t.Errorf("%q", text)
	}
	if !errors.Is(err, io.EOF) {
		t.Error("the inner error is not reachable")
	}
}
