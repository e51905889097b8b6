package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/wiring"
)

// outputNamed is the output of a poller, its own by "".
func outputNamed(p *config.Poller, name string) (*config.Output, error) {
	for i := range p.Outputs {
		if p.Outputs[i].Name == name {
			return &p.Outputs[i], nil
		}
	}
	return nil, fmt.Errorf("%s has no output %q", p.Name, name)
}

func newTail(c *console) *cobra.Command {
	var output, from string
	cmd := &cobra.Command{
		Use:   "tail <poller>",
		Short: "Show what would be sent, live, and change nothing",
		Long: `Tail prints each event that an output would send, a line each in the output's format, until Ctrl-C. It reads the source as
a poller does that begins now, keeps its position in memory, and sends nothing: the poller that runs elsewhere knows ` +
			`nothing of it.

It is for tables. What an outbox would publish next, rowrelay check and rowrelay outbox list show.`,
		Example: `  rowrelay tail orders
  rowrelay tail orders --from earliest | jq .data
  rowrelay tail orders --from 2026-04-07T00:00:00Z`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return tail(cmd.Context(), c, args[0], output, from) },
	}
	outputFlag(cmd.Flags(), &output)
	cmd.Flags().StringVar(&from, "from", "latest", "where to begin, as source__start says it: earliest, latest, or a cursor value")
	return cmd
}

// tailPause is how long tail waits before it asks the source again.
const tailPause = 500 * time.Millisecond

func tail(ctx context.Context, c *console, name, output, from string) error {
	cfg, err := load(c)
	if err != nil {
		return err
	}
	named, err := wiring.Unwired(cfg).Poller(name)
	if err != nil {
		return err
	}
	p := named.Config
	if !p.Source.Mode.Can(mode.Document) {
		return fmt.Errorf("tail is for tables, and %s has source__mode=%s: look by %s", name, p.Source.Mode,
			p.Source.Mode.Command(mode.List, name, ""))
	}
	out, err := outputNamed(p, output)
	if err != nil {
		return err
	}
	// The poller as it is, but for where its position is, and where its events go.
	cfg.State, cfg.Pollers = config.State{Kind: "memory", AppName: cfg.State.AppName}, []*config.Poller{p}
	out.Kind, out.Name = "stdout", ""
	p.Outputs, p.DeadLetter = []config.Output{*out}, config.DeadLetter{Kind: "state"}
	p.Source.Start, p.PollInterval = from, 0
	a := wiring.New(cfg, c.process())
	defer func() { _ = a.Close() }() // nothing was written
	if err := wiring.Refuse(cfg, a.Pollers); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.err, "%s from %s on, until Ctrl-C; nothing is sent\n", name, from); err != nil {
		return err
	}
	for ctx.Err() == nil {
		for _, r := range a.Pollers[0].Runner.Run(ctx) {
			if r.Failed() && ctx.Err() == nil {
				return plaintext.Error(r.Err)
			}
		}
		if clock.Sleep(ctx, tailPause) != nil {
			break
		}
	}
	return nil
}

func newSchema(c *console) *cobra.Command {
	var output string
	var async bool
	cmd := &cobra.Command{
		Use:   "schema <poller>",
		Short: "Print the JSON Schema, or the AsyncAPI document, of what an output sends",
		Long: `Schema reads the table's columns from the catalog and prints the JSON Schema (draft 7) of the bodies that an output sends, in
its format. With --asyncapi it prints an AsyncAPI 3.0 document, which also says where they go. Generators of types ` +
			`read both. It
changes nothing.`,
		Example: `  rowrelay schema orders > orders.schema.json
  rowrelay schema orders --asyncapi`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return schema(cmd.Context(), c, args[0], output, async)
		},
	}
	outputFlag(cmd.Flags(), &output)
	cmd.Flags().BoolVar(&async, "asyncapi", false, "print an AsyncAPI document")
	return cmd
}

func schema(ctx context.Context, c *console, name, output string, async bool) error {
	a, chosen, err := c.open([]string{name})
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // nothing was written
	out, err := outputNamed(chosen[0].Config, output)
	if err != nil {
		return err
	}
	if err := wiring.Refuse(a.Config, chosen); err != nil {
		return err
	}
	p := a.Inspect(chosen, true).Pollers[0]
	if !p.Publishes() { // of an outbox there is nothing to ask
		p.Check(ctx, 0)
	}
	if err := p.Unknown(); err != nil {
		return err
	}
	if async {
		return printing.JSON(c.out, p.AsyncAPI(out))
	}
	return printing.JSON(c.out, p.Schema(out))
}

// sampleFlags are those of `rowrelay test-event`.
type sampleFlags struct {
	aggregate, kind, payload string
	given                    *pflag.FlagSet
}

func newTestEvent(c *console) *cobra.Command {
	t := &target{console: c}
	var s sampleFlags
	cmd := t.flags(&cobra.Command{
		Use:   "test-event <poller>",
		Short: "Send one marked sample to the destination",
		Long: `Test-event sends one event to an output's destination, by the output's own settings, and says what the destination answered.
Of a table it is the first row as it is now, of an outbox what the flags say. It is marked: its id begins with ` +
			`test-, its batch is
called test (Rowrelay-Batch-Id, rowrelaybatch), and its fencing token and delivery number are 0, which a receiver ` +
			`with a fence
refuses. A body of the formats row, sqltrigger and payload has no place for a mark. Neither has a table
(output__kind=sql): nothing is sent there.

Nothing else changes: no position, no lease, no row.`,
		Example: `  rowrelay test-event orders
  rowrelay test-event orders --dry-run
  rowrelay test-event events --aggregate-type Order --event-type OrderPlaced --payload '{"id":1}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.given = cmd.Flags()
			return t.testEvent(cmd.Context(), args[0], &s)
		},
	})
	outputFlag(cmd.Flags(), &t.output)
	cmd.Flags().StringVar(&s.aggregate, "aggregate-type", "test", "of an outbox: the event's aggregate_type")
	cmd.Flags().StringVar(&s.kind, "event-type", "test", "of an outbox: its event_type")
	cmd.Flags().StringVar(&s.payload, "payload", `{"test":true}`, "of an outbox: its payload, JSON")
	return cmd
}

func (t *target) testEvent(ctx context.Context, name string, s *sampleFlags) error {
	t.log = auditLogger(t.console, &config.App{}) // an output may doubt who has answered
	a, chosen, err := t.open([]string{name})
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // what was sent is sent
	w := chosen[0]
	out, err := outputNamed(w.Config, t.output)
	if err != nil {
		return err
	}
	if err := wiring.Refuse(a.Config, chosen); err != nil {
		return err
	}
	d, err := sample(ctx, a, w, out, s)
	if err != nil {
		return plaintext.Error(err)
	}
	to, err := a.OpenOutput(w.Config, out)
	if err != nil {
		return err
	}
	if to.Shape != nil {
		e := &d.Events[0]
		if *e, err = to.Shape(e); err == nil {
			err = e.Broken
		}
		if err != nil {
			return err
		}
		if e.Aside {
			return t.idle("output__jq leaves this event out: nothing is sent")
		}
	}
	where := a.Inspect(chosen, true).Pollers[0].To(out)
	format, _ := change.ParseFormat(out.Format) // it has been opened
	if err := t.say("One event, marked as a test, to %s:\n  %s", where, format.AppendEvent(nil, d, 0)); err != nil {
		return err
	}
	if t.dryRun {
		return t.idle("dry run: nothing was sent")
	}
	if out.Kind == "sql" {
		return errors.New("a table has no place for a mark, so that the row itself would be written: --dry-run " +
			"shows it, and `rowrelay check` says what the table lacks")
	}
	if err := t.confirmed(name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, out.Timeout)
	defer cancel()
	began := time.Now()
	err = to.To.Deliver(ctx, *d)
	var failed *poller.DeliveryError
	if errors.As(err, &failed) && failed.Remedy != "" {
		err = fmt.Errorf("%w: %s", err, failed.Remedy)
	}
	if err != nil {
		return fmt.Errorf("%s did not take it: %w", where, err)
	}
	return t.done("%s took %s after %s", where, d.Events[0].ID, time.Since(began).Round(time.Millisecond))
}

// sample is a delivery of one marked event.
func sample(ctx context.Context, a *wiring.App, w *wiring.Poller, out *config.Output, s *sampleFlags) (
	*change.Delivery, error,
) {
	d := &change.Delivery{
		App: a.Config.State.AppName, Poller: w.Config.Name, Engine: w.Connection.Engine, Table: w.Config.Source.Table,
		BatchID: "test", Attempt: 1, Type: out.Type, Source: out.Source, Events: make([]change.Event, 1),
	}
	e := &d.Events[0]
	if w.Config.Source.Mode != mode.Outbox {
		err := commandline.NoneOf(s.given, "is of an outbox, and "+w.Config.Name+" sends a row as it is",
			"aggregate-type", "event-type", "payload")
		if err != nil {
			return nil, err
		}
	}
	if w.Source == nil {
		if w.Config.Source.Mode != mode.Outbox {
			return nil, fmt.Errorf("%s shares its changes by leases, which test-event does not take", w.Config.Name)
		}
		if !json.Valid([]byte(s.payload)) {
			return nil, commandline.Mistaken("--payload is not JSON")
		}
		key := []byte(`{"seq":0}`)
		row, _ := json.Marshal(map[string]string{"aggregate_type": s.aggregate, "event_type": s.kind, "payload": s.payload})
		*e = change.Event{Key: key, OrderKey: key, Row: row, Cursor: change.Cursor(`{"kind":"outbox"}`)}
		e.Time = time.Now()
		e.Outbox = &change.Outbox{AggregateType: s.aggregate, AggregateID: "test", EventType: s.kind,
			Payload: []byte(s.payload), JSON: true, CreatedAt: e.Time}
	} else {
		found, err := w.Source.Check(ctx, nil, 1, w.Config.BatchSize)
		if err == nil {
			err = found.ReadError
		}
		if err != nil {
			return nil, err
		}
		if len(found.Events) == 0 {
			return nil, fmt.Errorf("%s has no row to send: insert one", found.Table)
		}
		d.Table, d.Fingerprint, *e = found.Table, found.Fingerprint, found.Events[0]
	}
	e.ID = "test-" + rand.Text()
	if e.Outbox != nil {
		e.Outbox.IdempotencyKey = e.ID
	}
	return d, nil
}
