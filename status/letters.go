package status

import (
	"context"
	"sync"
)

// Counted is how many dead letters of an output lie in the state store.
type Counted struct {
	Poller, Output string
	DeadLetters    int64
}

// DeadLetters counts them for metrics. What could not be read now is missing, and so are outboxes, whose rows say
// themselves, and pollers whose dead letters go to a queue.
func (b *Board) DeadLetters(ctx context.Context) []Counted {
	list := make([]Counted, 0, len(b.all))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, r := range b.all {
		if r.letters == nil {
			continue
		}
		wg.Go(func() {
			if n, _, err := r.letters.get(ctx); err == nil {
				mu.Lock()
				defer mu.Unlock()
				list = append(list, Counted{r.Base.Poller, r.Base.Output, n})
			}
		})
	}
	wg.Wait()
	return list
}
