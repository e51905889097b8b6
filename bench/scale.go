package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/rowrelay/rowrelay/bench/lab"
)

// runScale shows what pollers cost that have nothing to do: so many in one process, each with a table of its own on one
// PostgreSQL, on one schedule, a tick each second. `make bench-scale` runs it.
func runScale(ctx context.Context, o options) error {
	const idle, starting = 30 * time.Second, 15 * time.Second
	fmt.Printf("| pollers | processor time of a second | for a tick | memory | connections to the database | failed ticks |\n|---|---|---|---|---|---|\n")
	for _, n := range []int{1, 50, 200, 1000} {
		if err := scale(ctx, n, starting, idle); err != nil {
			return fmt.Errorf("%d pollers: %w", n, err)
		}
	}
	return nil
}

func scale(ctx context.Context, n int, starting, idle time.Duration) error {
	d, err := lab.NewDatabase(ctx)
	if err != nil {
		return err
	}
	defer d.Drop()
	dir, err := os.MkdirTemp("", "rowrelay-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.CommandContext(ctx, binary, "run")
	cmd.Env = append(os.Environ(), "state__kind=file", "state__path="+dir, "state__app_name=bench", "log__level=info",
		"status__listen=127.0.0.1:0", "BENCH_DB="+d.URL)
	for i := range n {
		table, prefix := fmt.Sprintf("t%d", i), fmt.Sprintf("pollers__p%d__", i)
		if _, err := d.Exec(ctx, "CREATE TABLE "+table+" (id bigint PRIMARY KEY, updated_at timestamptz NOT NULL); CREATE INDEX ON "+
			table+" (updated_at, id); INSERT INTO "+table+" SELECT n, now() - interval '1 day' FROM generate_series(1, 20) n"); err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, prefix+"source__connection=BENCH_DB", prefix+"source__table="+table, prefix+"source__cursor=updated_at",
			prefix+"output__kind=stdout")
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	wait := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err = wait(starting)
	from := spentBy(cmd.Process.Pid)
	err = errors.Join(err, wait(idle))
	spent := spentBy(cmd.Process.Pid) - from
	var connections int
	err = errors.Join(err, d.QueryRow(ctx,
		"SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&connections))
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGINT), cmd.Wait())
	if err != nil {
		return fmt.Errorf("%w\n%.2000s", err, said.String())
	}
	second := spent.Seconds() / idle.Seconds()
	fmt.Printf("| %d | %.0f ms | %.2f ms | %d MB | %d | %d |\n", n, second*1000, second*1000/float64(n), peakOf(cmd.ProcessState)/1e6,
		connections, strings.Count(said.String(), `level=ERROR`)+strings.Count(said.String(), `"level":"ERROR"`))
	return nil
}

// spentBy is the processor time of a process so far (Linux).
func spentBy(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var user, system int64 // in hundredths of a second
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
