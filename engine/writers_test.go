package engine

import "testing"

// TestWriterNumbers: a row's number is never told lower than it is, however often the 32 bits have come round: it would
// count as delivered.
func TestWriterNumbers(t *testing.T) {
	const cycle = uint64(1) << 32
	for _, next := range []uint64{1000, cycle - 5, cycle + 3, cycle + 5, 3*cycle + 1<<31, 7*cycle + 12345} {
		w := Writers{Next: next}
		for _, back := range []int64{-1000, -1, 0, 1, 2, 500, 1 << 30, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32,
			1<<32 + 7, 5 << 32} {
			n := int64(next) - back //nolint:gosec // small
			if n < firstWriter || uint32(n) < firstWriter {
				continue
			}
			got := w.Of(uint32(n)) //nolint:gosec // the lowest bits
			if got < uint64(n) || back < 1<<31 && got != uint64(n) {
				t.Errorf("next %d, written by %d: %d", next, n, got)
			}
		}
	}
	if (Writers{}).Of(5) != 0 || (Writers{Next: 100}).Of(2) != 0 {
		t.Error("what is no number is told as one")
	}
	if w := (Writers{Next: 5 * cycle}); w.May(cycle) || w.May(5*cycle+1) || !w.May(5*cycle-1000) {
		t.Error("rows can be held against a number in the circle when it is no further off than a quarter")
	}
}
