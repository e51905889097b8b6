//go:build !windows

package host

import (
	"context"
	"os"
	"time"
)

// WatchParent returns a function that waits until the process that started this one has ended, or ctx ends. The kernel
// then gives an orphan another parent. (Linux could send a signal instead, but binds it to the life of a thread, which
// Go does not promise.)
func WatchParent(ctx context.Context) (ended func() bool) {
	host := os.Getppid()
	return func() bool {
		probe := time.NewTicker(time.Second)
		defer probe.Stop()
		for {
			select {
			case <-probe.C:
				if os.Getppid() != host {
					return true
				}
			case <-ctx.Done():
				return false
			}
		}
	}
}
