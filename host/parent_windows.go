package host

import (
	"context"
	"os"
)

// WatchParent returns a function that waits until the process that started this one has ended, or ctx ends. Windows
// gives an orphan no other parent, but lets any process wait for any other.
func WatchParent(ctx context.Context) (ended func() bool) {
	host, err := os.FindProcess(os.Getppid())
	return func() bool {
		gone := make(chan struct{})
		if err == nil {
			go func() {
				if _, err := host.Wait(); err == nil {
					close(gone)
				}
			}()
		}
		select {
		case <-gone:
			return true
		case <-ctx.Done():
			return false
		}
	}
}
