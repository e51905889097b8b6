//go:build !windows

package main

import (
	"context"
	"os"
	"time"
)

// parent waits until the process that started this one has ended, or ctx ends. The kernel then gives an orphan
// another parent. (Linux could send a signal instead, but binds it to the life of a thread, which Go does not
// promise.)
func parent(ctx context.Context) (ended func() bool) {
	host := os.Getppid()
	return func() bool {
		look := time.NewTicker(time.Second)
		defer look.Stop()
		for {
			select {
			case <-look.C:
				if os.Getppid() != host {
					return true
				}
			case <-ctx.Done():
				return false
			}
		}
	}
}
