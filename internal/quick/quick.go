// Package quick says what `make quick` leaves to `make test`.
package quick

import "testing"

// Skip leaves out a test that takes more than a second, of the processor or of waiting.
func Skip(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("takes seconds: `make test` runs it")
	}
}

// Runs is how many runs a test makes that draws its own cases: all of them, or few.
func Runs[N int | uint64](all, few N) N {
	if testing.Short() {
		return few
	}
	return all
}
