package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestPercent: a small heap grows to the floor, a large one to twice its size, and nothing overflows.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		alive, roots, floor uint64
		want                int
	}{
		{0, 0, 28, 700}, {1, 0, 28, 700}, {4, 0, 28, 600}, {4, 2, 28, 400}, {14, 0, 28, 100}, {20, 0, 28, 100}, {28, 7, 28,
			100},
		{1000, 7, 28, 100},
	} {
		if got := percent(counts{c.alive << 20, c.roots << 20}, c.floor<<20); got != c.want {
			t.Errorf("%d MiB alive, floor %d: %d%%, want %d", c.alive, c.floor, got, c.want)
		}
	}
}

// TestKeep: the target follows what is alive, collection after collection; and what GOGC says stays.
func TestKeep(t *testing.T) {
	before := debug.SetGCPercent(usual)
	defer debug.SetGCPercent(before)
	target := func() (p int) {
		p = debug.SetGCPercent(usual)
		debug.SetGCPercent(p)
		return p
	}
	t.Setenv("GOGC", "50")
	if Keep(); target() != usual {
		t.Errorf("the target is %d%% although GOGC is set", target())
	}
	t.Setenv("GOGC", "")
	runtime.GC()
	if Keep(); target() <= usual {
		t.Errorf("the target of a small heap is %d%%", target())
	}
	large := make([]byte, Floor)
	for deadline := time.After(time.Minute); target() != usual; {
		runtime.GC()
		select {
		case <-deadline:
			t.Fatalf("the target of a large heap is %d%%", target())
		default:
			runtime.Gosched()
		}
	}
	runtime.KeepAlive(large)
}
