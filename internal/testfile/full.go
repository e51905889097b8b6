//go:build unix

package testfile

import (
	"os/signal"
	"syscall"
	"testing"
)

// Full lets this process write no file beyond its first bytes until the test ends, as if the disk were full.
func Full(t testing.TB) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ) // so that the write fails
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = 5
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &few); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	})
}
