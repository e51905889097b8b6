// Command compare runs Rowrelay and its peers one after the other on the same tables, writers and receiver, and shows
// what each delivers: how fast, how soon, and how much of it is lost, twice there or out of order. `make compare`
// builds the programs, starts PostgreSQL and runs it. README.md beside it says what is measured, and how to add a
// contender.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowrelay/rowrelay/bench/peers"
)

type options struct {
	rowrelay, benthos string // binaries
	only              string
	rounds, backlog   int
	rate, writers     int // of live events: a second, and how many write them
	live              time.Duration
	poll, kill, think time.Duration
	patience          time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.rowrelay, "rowrelay", "../rowrelay", "Rowrelay's binary")
	flag.StringVar(&o.benthos, "benthos", "",
		"Benthos's binary, of the module in compare/benthos; without it, it does not run")
	flag.StringVar(&o.only, "only", "", "only contenders whose name has this in it")
	flag.IntVar(&o.rounds, "rounds", 3, "how often the contenders take turns")
	flag.IntVar(&o.backlog, "events", 10_000, "events that are there at the start")
	flag.IntVar(&o.rate, "rate", 300,
		"live events a second; every contender has to keep up, or its latency is that of a queue")
	flag.IntVar(&o.writers, "writers", 32,
		"connections that write; one transaction of 20 is held open for 200 ms")
	flag.DurationVar(&o.live, "for", 20*time.Second,
		"how long live events are written, once in peace and once while the contender is killed")
	flag.DurationVar(&o.poll, "poll", 50*time.Millisecond, "how often a contender looks for events")
	flag.DurationVar(&o.kill, "kill", 5*time.Second, "how often the contender is killed (SIGKILL), and started again")
	flag.DurationVar(&o.think, "think", time.Millisecond, "how long the receiver takes for a request")
	flag.DurationVar(&o.patience, "patience", 90*time.Second,
		"how long nothing has to arrive before what is missing counts as lost")
	relay := flag.String("relay", "",
		"be the library of this name and send to the URL that is left (this command starts itself so)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *relay != "" {
		err = relayPeer(ctx, *relay, flag.Arg(0), o.poll)
	} else {
		err = compare(ctx, o)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, o options) error {
	var chosen []contender
	for _, c := range contenders(o) {
		if strings.Contains(c.name, o.only) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only: no contender is called %q", o.only)
	}
	if o.benthos == "" {
		fmt.Println("NOT RUN: Benthos, because -benthos is not set")
	}
	results := make([][]result, len(chosen))
	for round := range o.rounds {
		for i, c := range chosen {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, c.name)
			r, err := run(ctx, o, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			results[i] = append(results[i], r)
		}
	}
	show(o, chosen, results)
	return nil
}

// relayPeer publishes the messages of the database at COMPARE_DB.
func relayPeer(ctx context.Context, name, url string, poll time.Duration) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	db, err := pgxpool.New(ctx, os.Getenv("COMPARE_DB"))
	if err != nil {
		return err
	}
	defer db.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	for _, p := range peers.All() {
		if p.Name == name {
			return p.Relay(ctx, db, poll, func(ctx context.Context, payload []byte) error {
				return post(ctx, client, url, payload)
			})
		}
	}
	return fmt.Errorf("no peer is called %q", name)
}

func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusNoContent {
		err = errors.New(answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}
