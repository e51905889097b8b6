// Package heap sets how often the garbage collector runs. What is alive in a relay is a few megabytes, so that Go's own
// target, twice that, is reached a hundred times a second while a table is drained. [Keep] lets the heap grow to a
// floor first. A heap that is larger than half the floor is collected as ever.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Floor is the size of the heap below which nothing is collected, in bytes: with the program itself it stays below
// 60 MB of memory.
const Floor = 20 << 20

const (
	// usual is Go's own target: the heap may double.
	usual = 100
	// least is what Go lets a heap grow to at the usual target, however little is alive; at others in proportion.
	least = 4 << 20
)

// Keep adapts the target after each collection. It does nothing where GOGC says what is wanted.
func Keep() {
	if os.Getenv("GOGC") != "" {
		return
	}
	again(new(collected))
}

// collected is garbage: its end tells of a collection.
type collected struct{ _ [16]byte }

func again(c *collected) {
	debug.SetGCPercent(percent(counted(), Floor))
	runtime.SetFinalizer(c, again)
}

// counts are the bytes that Go's target is a percentage of.
type counts struct {
	alive uint64 // what the last collection left of the heap
	roots uint64 // stacks and variables, which are searched too
}

// percent is the target at which the heap grows to the floor, or at least by as much as is usual.
func percent(n counts, floor uint64) int {
	wanted := (floor - min(n.alive, floor)) * usual / max(n.alive+n.roots, 1)
	return int(max(usual, min(wanted, floor*usual/least)))
}

func counted() counts {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	var values [3]uint64
	for i, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 { // else this Go does not tell
			values[i] = s.Value.Uint64()
		}
	}
	return counts{values[0], values[1] + values[2]}
}
