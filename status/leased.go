package status

import (
	"context"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
)

// sharedEvery is how often the tables of shared leases are asked for a report, at most: they are the application's own
// database's.
const sharedEvery = 3 * time.Second

// sharedPart reads how changes stand that instances share by leases, with the dead letters among them.
type sharedPart struct{ poller *inspect.Poller }

func (p *sharedPart) read(ctx context.Context) (func(*Output), error) {
	s, err := p.poller.AskLeases(ctx)
	if err != nil {
		return nil, err
	}
	letters := []Letter{}
	for _, d := range s.Dead[:min(len(s.Dead), MaxLetters)] {
		letters = append(letters, Letter{ID: d.Key + " version " + strconv.FormatInt(d.Version, 10), Key: d.Key,
			Attempts: d.Attempts, Reason: plaintext.Line(d.Reason)})
	}
	return func(o *Output) {
		o.Position, o.Letters = strconv.FormatInt(s.From, 10), letters
		o.Parked, o.DeadLetters = int64(s.Parked), int64(s.Gone)
	}, nil
}
