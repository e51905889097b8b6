package testenv

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/clock"
)

// Await calls try until it returns nil, and returns its last error when patience is over.
func Await(patience time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := try()
		if err == nil || clock.Sleep(ctx, 20*time.Millisecond) != nil {
			return err
		}
	}
}
