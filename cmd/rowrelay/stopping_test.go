package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTellStopping: who presses Ctrl-C while a receiver hangs is told what is waited for; an end at once needs no word.
func TestTellStopping(t *testing.T) {
	for takes, told := range map[time.Duration]bool{100 * time.Millisecond: false, 30 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			ctx, interrupt := context.WithCancel(t.Context())
			end := tellStopping(ctx, slog.New(slog.NewTextHandler(&log, nil)))
			time.Sleep(time.Minute)
			interrupt()
			time.Sleep(takes)
			end()
			synctest.Wait()
			if got := log.String(); strings.Contains(got, "stopping: ") != told {
				t.Errorf("%s: %q", takes, got)
			}
		})
	}
}
