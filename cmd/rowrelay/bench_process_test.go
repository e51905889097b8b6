//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// benchBinary builds the product as it is shipped.
func benchBinary(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "rowrelay")
	if err := programtest.Build(program); err != nil {
		b.Fatal(err)
	}
	return program
}

// BenchmarkMemory compares the peak memory of `rowrelay run --once`, as the kernel counts it (VmHWM), for a table and
// for one ten times as large. 1M/100k is the median of three ratios.
//
//	make bench BENCH=Memory                     ROWRELAY_BENCH_ROWS (of the smaller table), ROWRELAY_BENCH_TURNS
func BenchmarkMemory(b *testing.B) {
	rows, turns := benchSize(b, "ROWRELAY_BENCH_ROWS", 100_000), benchSize(b, "ROWRELAY_BENCH_TURNS", 3)
	small, large := testenv.SQLite(b), testenv.SQLite(b)
	benchSQLite(b, small, rows)
	benchSQLite(b, large, 10*rows)
	benchPeaks(b, benchBinary(b), small, large, turns, nil)
}

// benchPeaks reports the peak memory of draining a large table beside that of a small one.
func benchPeaks(b *testing.B, program, small, large string, turns int, more benchSettings) {
	to := newBenchReceiver(b)
	var ratios, peaks []float64
	for b.Loop() {
		for range turns {
			s, l := benchPeak(b, program, to.URL, small, more), benchPeak(b, program, to.URL, large, more)
			ratios, peaks = append(ratios, l/s), append(peaks, l)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "large/small")
	b.ReportMetric(median(peaks)/1024, "MiB")
}

// benchPeak drains a table by a process of its own and returns the process's peak memory in KiB.
func benchPeak(b *testing.B, program, receiver, url string, more benchSettings) float64 {
	b.Helper()
	dir := b.TempDir()
	s := benchPoller(url, receiver).with(benchSettings{"state__kind": "file", "state__path": filepath.Join(dir, "state")}).
		with(more)
	cmd := exec.CommandContext(b.Context(), program, "run", "--once")
	var out strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(s.environ(), "HOME="+dir), &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	peak := 0.0
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case err := <-done:
			tick.Stop()
			if err != nil || peak == 0 {
				b.Fatalf("rowrelay run --once: %v\n%s", err, out.String())
			}
			return peak
		case <-tick.C:
			peak = max(peak, highWater(cmd.Process.Pid))
		}
	}
}

// highWater is a process's VmHWM in KiB; 0 when the process is gone. (Its rusage would not do: it begins with the
// parent's.)
func highWater(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(fields[0], 64) // 0 is what it is when it cannot be read
	return kib
}

// BenchmarkStart measures from the start of `rowrelay serve`, as the Functions host starts it, to the answer to the
// first ping: the median of twenty starts.
//
//	make bench BENCH=Start                      ROWRELAY_BENCH_STARTS
func BenchmarkStart(b *testing.B) {
	starts := benchSize(b, "ROWRELAY_BENCH_STARTS", 20)
	program := benchBinary(b)
	var took []float64
	for b.Loop() {
		for range starts {
			took = append(took, benchStart(b, program).Seconds()*1000)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(took), "ms-to-ping")
	b.ReportMetric(took[0], "ms-fastest")
	b.ReportMetric(took[len(took)-1], "ms-slowest")
}

func benchStart(b *testing.B, program string) time.Duration {
	b.Helper()
	dir := b.TempDir()
	s := benchPoller("sqlite:"+filepath.Join(dir, "shop.db"), "http://127.0.0.1:1/").with(benchSettings{
		"state__kind": "file", "state__path": dir, "FUNCTIONS_CUSTOMHANDLER_PORT": freePort(b), "HOME": dir,
		"pollers__orders__tick_budget": "50s",
	})
	ctx, kill := context.WithCancel(b.Context())
	cmd := exec.CommandContext(ctx, program, "serve")
	var out strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, s.environ(), &out, &out
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { kill(); _ = cmd.Wait() }() // killed
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for time.Since(begun) < 30*time.Second {
		resp, err := client.Get("http://127.0.0.1:" + s["FUNCTIONS_CUSTOMHANDLER_PORT"] + "/")
		if err != nil {
			_ = clock.Sleep(ctx, 500*time.Microsecond) // not listening yet
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body) // the answer counts, not what it says
		_ = resp.Body.Close()
		return time.Since(begun)
	}
	b.Fatalf("no ping was answered\n%s", out.String())
	return 0
}

func freePort(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // nothing is lost with it
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	return port
}
