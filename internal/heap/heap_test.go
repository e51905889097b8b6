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
		alive, floor uint64
		want         int
	}{
		{0, 100, 100}, {1, 100, 9900}, {10, 100, 900}, {50, 100, 100}, {60, 100, 100}, {100, 100, 100}, {1000, 100, 100},
		{1, 1 << 40, 1<<31 - 1},
	} {
		if got := percent(c.alive, c.floor); got != c.want {
			t.Errorf("%d alive, floor %d: %d%%, want %d", c.alive, c.floor, got, c.want)
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
