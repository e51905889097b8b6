// Package heap sets how often the garbage collector runs. What is alive in a relay is a few megabytes, so that Go's own
// target, twice that, is reached a hundred times a second while a table is drained. [Keep] lets the heap grow to a
// floor first. A heap that is larger than half the floor is collected as ever.
package heap

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Floor is the size of the heap below which nothing is collected, in bytes: with the program itself it stays below
// 60 MB of memory.
const Floor = 28 << 20

// usual is Go's own target: the heap may double.
const usual = 100

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
	debug.SetGCPercent(percent(alive(), Floor))
	runtime.SetFinalizer(c, again)
}

// percent is the target for a heap of which so much is alive: it grows to the floor, or to twice its size.
func percent(alive, floor uint64) int {
	if alive == 0 {
		return usual
	}
	return max(usual, int(min((floor-min(alive, floor))*100/alive, math.MaxInt32)))
}

// alive is what the last collection left.
func alive() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
