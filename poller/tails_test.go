package poller

import (
	"math/rand/v2"
	"testing"
)

// The table knows what a map would, also where keys meet at one place and where it has grown.
func TestTails(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table, model := newTails(), map[uint64]*item{}
	for step := range 20_000 {
		key := random.Uint64N(400) // many begin at one place
		if random.IntN(2) == 0 {
			key = key<<32 | key&7
		}
		if table.of(key) != model[key] {
			t.Fatalf("step %d: key %d has %v, want %v", step, key, table.of(key), model[key])
		}
		if last := model[key]; last != nil && random.IntN(3) > 0 {
			table.drop(&item{key: key}) // not the last one
			table.drop(last)
			delete(model, key)
		} else {
			it := &item{key: key}
			if before := table.put(it); before != last {
				t.Fatalf("step %d: before %d was %v, want %v", step, key, before, last)
			}
			model[key] = it
		}
		if table.taken != len(model) {
			t.Fatalf("step %d: %d places are taken by %d keys", step, table.taken, len(model))
		}
	}
}
