package sim

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSimulation runs SEEDS seeds from SEED on (make sim), each of which must keep every promise, and replay. SEED
// alone runs one seed (FULL=1 prints its trace in any case). VIOLATIONS is how many broken ones a process looks for
// before it stops.
func TestSimulation(t *testing.T) {
	first, count := number("SEED", 1), number("SEEDS", 1000)
	if number("SEED", 0) > 0 && number("SEEDS", 0) == 0 {
		count = 1
	}
	b := newBuilder(t)
	if err := b.build(t.Context(), "./sim"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	r, err := workers(t.Context(), b.program("./sim", ""), b.dir, first, count, runtime.NumCPU(), number("VIOLATIONS", 1))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range r.Violations {
		if i < 1 {
			t.Error(v.String())
		} else {
			t.Errorf("seed %d: %s", v.Seed, v.Text)
		}
	}
	if len(r.Violations) == 0 && os.Getenv("FULL") != "" {
		fmt.Println(strings.Join(r.Trace, "\n"))
	}
	took := time.Since(begun)
	summary := fmt.Sprintf("simulation: %s\nin %s, %.0f seeds per second", r.Tally.String(), took.Round(time.Second/10),
		float64(r.Tally.Seeds)/took.Seconds())
	t.Log(strings.ReplaceAll(summary, "; ", "\n  "))
}
