package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/filestore"
)

const (
	childEnv  = "ROWRELAY_FILESTORE_CHILD" // the directory in which a child process contends
	children  = 3
	childWork = 25 // commits of each child, each under a lease of its own
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := contend(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// contend takes the lease, moves the cursor by one and gives the lease back, childWork times.
func contend(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	k, err := keeper(dir)
	if err != nil {
		return err
	}
	for done := 0; done < childWork; {
		s, err := k.Load(ctx)
		if err != nil {
			return err
		}
		l, err := k.Acquire(ctx, s)
		var held *state.HeldError
		var moved *state.MovedError
		if errors.As(err, &held) || errors.As(err, &moved) {
			continue
		}
		if err != nil {
			return err
		}
		from := s.Doc.Checkpoint.Cursor
		n := count(from)
		err = l.Commit(ctx, state.Commit{From: from, To: cursor(n + 1), BatchID: fmt.Sprint(n), Rows: 1, Release: true})
		if err != nil {
			return err
		}
		done++
	}
	return nil
}

func keeper(dir string) (*state.Keeper, error) {
	s, err := filestore.New(dir)
	if err != nil {
		return nil, err
	}
	return state.New(state.Config{
		Store: s, Key: state.Key("shop", "orders", ""), Poller: "orders", Owner: fmt.Sprintf("shop/%d", os.Getpid()),
		TTL: time.Minute,
	})
}

func cursor(n int) change.Cursor { return change.Cursor(fmt.Sprintf(`{"kind":"int","value":%d}`, n)) }

// count reads a cursor; the beginning, which does not scan, is 0.
func count(c change.Cursor) int {
	var n int
	if _, err := fmt.Sscanf(string(c), `{"kind":"int","value":%d}`, &n); err != nil {
		return 0
	}
	return n
}

// TestProcesses: of several processes on one directory, one at a time holds the lease, and no commit of any is lost.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	k, err := keeper(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Create(t.Context(), "sha256:f", "", nil); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var running []*exec.Cmd
	for range children {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	s, err := k.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const want = children * childWork
	if got := count(s.Doc.Checkpoint.Cursor); got != want || s.Doc.Lease.FencingToken != want {
		t.Errorf("cursor %d, token %d, want %d of both", got, s.Doc.Lease.FencingToken, want)
	}
}
