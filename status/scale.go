package status

import (
	"context"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/inspect"
)

// mostWorkers is how many workers a figure asks for at most, and one more: a longer backlog is not counted to its end.
const mostWorkers = 100

// scaleEvery is how often changes are counted for a report, at most: they are counted in the application's own
// database.
const scaleEvery = 5 * time.Second

// Workers is how many workers so many unprocessed changes ask for.
func Workers(unprocessed, perWorker int64) int64 { return (unprocessed + perWorker - 1) / perWorker }

// scalePart counts what an output of change tracking has still to deliver.
type scalePart struct {
	count     func(ctx context.Context, most int) (int64, error)
	perWorker int
}

// newScalePart returns the part that counts.
func newScalePart(perWorker int, count func(ctx context.Context, most int) (int64, error)) Part {
	return Part{What: "how many changes wait", Measured: true, Every: scaleEvery,
		Read: (&scalePart{count, perWorker}).read}
}

func (p *scalePart) read(ctx context.Context) (func(*Output), error) {
	n, err := p.count(ctx, mostWorkers*p.perWorker+1)
	if err != nil {
		return nil, err
	}
	return func(o *Output) {
		o.Scale = &Scale{Unprocessed: n, TargetWorkers: Workers(n, int64(p.perWorker))}
	}, nil
}

// retainedEvery is how often it is asked for how long changes are kept: people change it.
const retainedEvery = 10 * time.Minute

// retentionPart is how long a poller of change tracking may stand still.
func retentionPart(p *inspect.Poller) Part {
	return Part{What: "for how long changes are kept", Every: retainedEvery,
		Read: func(ctx context.Context) (func(*Output), error) {
			r, err := p.Retention(ctx)
			if err != nil || r.For == 0 {
				return func(*Output) {}, err
			}
			seconds := r.For.Seconds()
			return func(o *Output) { o.Survives = &seconds }, nil
		}}
}

// Measured are the outputs of change tracking with what is measured of them when somebody asks. It is the same on every
// instance, whichever is at work. What could not be read now is missing.
func (b *Board) Measured(ctx context.Context) []Output {
	list := make([]Output, 0, len(b.all))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, r := range b.all {
		wg.Go(func() {
			o, some := r.Base, false
			for i, p := range r.parts {
				if !r.Parts[i].Measured {
					continue
				}
				if put, _, err := p.get(ctx); err == nil {
					put(&o)
					some = true
				}
			}
			if some {
				mu.Lock()
				defer mu.Unlock()
				list = append(list, o)
			}
		})
	}
	wg.Wait()
	return list
}
