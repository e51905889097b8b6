// Command bench measures Rowrelay's outbox beside two Go libraries that do the same job, in one run, on the same
// PostgreSQL and the same sinks: github.com/oagudo/outbox and github.com/ThreeDotsLabs/watermill-sql (peers/); and how
// fast a table is drained beside a bare loop. It is a module of its own, so that the product does not depend on them.
// `make bench-outbox`, `make bench-drain` and `make bench-scale` build the binary, start the engines and run it; `make
// compare` runs compare/.
//
// Each contender has a table as its own documentation lays it out, filled with the same events of the same aggregates,
// and publishes them in the order of each aggregate: an event is done when RabbitMQ has confirmed it, or the HTTP
// server has answered 200. The libraries have settings that favour them: large pages, no pauses. What counts is the
// time between the first and the last arrival; the contenders take turns, so that a slow minute of the machine hits all
// of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/bench/lab"
	"github.com/rowrelay/rowrelay/bench/peers"
)

type options struct {
	rowrelay        string
	events, rounds  int
	only            string
	latency, growth time.Duration
	rate            int
}

func main() {
	var o options
	flag.StringVar(&o.rowrelay, "rowrelay", "../rowrelay", "the binary")
	flag.IntVar(&o.events, "events", 20000, "events in the table at the start of each run")
	flag.IntVar(&o.rounds, "rounds", 3, "how often the contenders take turns")
	flag.DurationVar(&o.latency, "latency", 20*time.Second, "how long the latency is measured; 0: not")
	flag.DurationVar(&o.growth, "growth", 0, "how long the growth of the table is watched; 0: not")
	flag.IntVar(&o.rate, "rate", 2000, "events per second while latency or growth are measured")
	receiving := flag.Bool("receive", false, "be the HTTP receiver (this command starts itself so)")
	think := flag.Duration("think", 0, "with -receive: how long each answer takes")
	counting := flag.Bool("count", false, "with -receive: count only")
	bare := flag.String("bare", "", "be the bare loop that posts to this URL, -events in a request (this command starts itself so)")
	draining := flag.Bool("drain", false, "measure how fast a table is drained, beside a bare loop")
	scaling := flag.Bool("scale", false, "measure what pollers cost that have nothing to do")
	flag.StringVar(&o.only, "only", "", "those whose name has this in it: where to, or with -drain what is drained")
	flag.Func("set", "with -drain: a setting of the poller; may be repeated", func(s string) error {
		settings = append(settings, s)
		return nil
	})
	flag.Parse()
	work := run
	switch {
	case *receiving && *counting:
		work = func(context.Context, options) error { return listen(&counter{}) }
	case *receiving:
		work = func(context.Context, options) error { return listen(&receiver{think: *think, seen: map[string]bool{}}) }
	case *bare != "":
		work = func(ctx context.Context, o options) error { return bareLoop(ctx, *bare, o.events) }
	case *draining:
		work = runDrains
	case *scaling:
		work = runScale
	}
	binary = o.rowrelay
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := work(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	for _, name := range []string{lab.Postgres, "ROWRELAY_TEST_RABBITMQ"} {
		if os.Getenv(name) == "" {
			return fmt.Errorf("%s is not set: run it as `make bench-outbox`", name)
		}
	}
	contenders := []contender{
		{"rowrelay", fillRowrelay, func(ctx context.Context, d *lab.Database, to *sink) error { return relay(ctx, d, to, 100) }},
		library(peers.Oagudo()),
		library(peers.Watermill()),
	}
	for _, kind := range []string{"rabbitmq", "http, 1 per request", "http, 1 per request, answered after 1 ms",
		"http, 100 per request"} {
		if !strings.Contains(kind, o.only) {
			continue
		}
		rates := make(map[string][]float64)
		for range o.rounds {
			for _, c := range contenders {
				if kind == "http, 100 per request" && c.name != "rowrelay" {
					continue // the libraries hand over one message at a time
				}
				if strings.HasPrefix(kind, "http, 1 per request") && c.name == "rowrelay" {
					c.relay = func(ctx context.Context, d *lab.Database, to *sink) error { return relay(ctx, d, to, 1) }
				}
				rate, err := measure(ctx, c, kind, o.events)
				if err != nil {
					return fmt.Errorf("%s to %s: %w", c.name, kind, err)
				}
				rates[c.name] = append(rates[c.name], rate)
			}
		}
		print(kind, rates)
	}
	if o.latency > 0 {
		if err := latency(ctx, o); err != nil {
			return err
		}
	}
	if o.growth > 0 {
		return growth(ctx, o)
	}
	return nil
}

// print shows the median of each, and how it stands to the best library.
func print(kind string, rates map[string][]float64) {
	median := func(name string) float64 {
		all := slices.Sorted(slices.Values(rates[name]))
		if len(all) == 0 {
			return 0
		}
		return all[len(all)/2]
	}
	best := max(median("oagudo/outbox"), median("watermill-sql"))
	fmt.Printf("\nPostgreSQL → %s\n", kind)
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	for _, name := range []string{"rowrelay", "oagudo/outbox", "watermill-sql"} {
		if m := median(name); m > 0 && best > 0 {
			fmt.Fprintf(w, "  %s\t%.0f events/s\t%.2f of the better library\t(runs: %.0f)\n", name, m, m/best, rates[name])
		} else if m > 0 {
			fmt.Fprintf(w, "  %s\t%.0f events/s\t\t(runs: %.0f)\n", name, m, rates[name])
		}
	}
	_ = w.Flush()
}

// contender publishes what fill has put into a table, until ctx ends.
type contender struct {
	name  string
	fill  func(ctx context.Context, d *lab.Database, events int) error
	relay func(ctx context.Context, d *lab.Database, to *sink) error
}

// measure returns the events per second between the first and the last arrival.
func measure(ctx context.Context, c contender, kind string, events int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	d, err := lab.NewDatabase(ctx)
	if err != nil {
		return 0, err
	}
	defer d.Drop()
	if err := c.fill(ctx, d, events); err != nil {
		return 0, fmt.Errorf("fill the table: %w", err)
	}
	if _, err := d.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return 0, err
	}
	to, err := newSink(kind)
	if err != nil {
		return 0, err
	}
	defer to.close()
	relaying, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- c.relay(relaying, d, to)
		close(ended) // await may have taken it
	}()
	took, err := to.await(ctx, events, ended)
	stop()
	if ending := <-ended; err == nil && ending != nil && !errors.Is(ending, context.Canceled) {
		err = ending
	}
	return float64(events) / took.Seconds(), err
}

// library fills the table of a library, and lets it publish what is there.
func library(p peers.Peer) contender {
	return contender{p.Name, func(ctx context.Context, d *lab.Database, events int) error {
		if err := p.Init(ctx, d.Pool); err != nil {
			return err
		}
		return d.Each(ctx, events, func(tx pgx.Tx, i int) error {
			return p.Insert(ctx, tx, peers.Message{Aggregate: fmt.Sprintf("a-%d", i%aggregates), Payload: []byte(payload(i))})
		})
	}, func(ctx context.Context, d *lab.Database, to *sink) error {
		publisher, err := newPublisher(to)
		if err != nil {
			return err
		}
		defer publisher.close()
		return p.Relay(ctx, d.Pool, time.Millisecond, publisher.send)
	}}
}
