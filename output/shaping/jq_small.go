//go:build small

package shaping

import "github.com/rowrelay/rowrelay/change"

// program is what the program of `make demo` leaves out.
type program struct{}

func compile(string) (*program, error) { return nil, change.ErrSmall }

func (*Shaper) run(*change.Event) {}
