package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/publisher"
)

func newOutbox(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "Create, look into and control the outbox of a poller with source__mode=outbox",
		Long: `Outbox is about pollers of the mode outbox, whose position is the state of their rows:

  PENDING      to be published
  PUBLISHING   being published (only source__strategy=skip_locked)
  PUBLISHED    accepted by the destination; clean-up deletes it when it is older than source__retention
  FAILED       refused by the destination; has a next attempt
  WAITING      behind an event of its aggregate that failed, or was given up
  DEAD LETTER  given up after max_attempts; its aggregate waits until somebody requeues or discards it
  DISCARDED    given up by an operator

What changes events shows first how many there are and asks for the poller's name (--yes goes on without asking, --dry-run
only shows). Each change is written to the log. docs/outbox.md is the page about all of this.`,
		Example: `  rowrelay outbox init orders | psql "$ORDERS_DB"
  rowrelay outbox status orders
  rowrelay outbox list orders --state dead
  rowrelay outbox requeue orders --event-type OrderPlaced --younger-than 24h`,
		Args: cobra.NoArgs,
	}
	t := &target{console: c}
	cmd.AddCommand(newOutboxInit(t), newOutboxStatus(t), newOutboxList(t), newOutboxRequeue(t), newOutboxDiscard(t),
		newOutboxCleanup(t), newOutboxPause(t), newOutboxResume(t))
	return cmd
}

// desk is one operator's work on one outbox.
type desk struct {
	*target
	cfg    *config.App
	poller *config.Poller
	outbox publisher.Operator
	close  func() error
}

// desk opens the outbox of a poller. Other pollers' faults do not matter here.
func (t *target) desk(name string) (*desk, error) {
	cfg, err := load(t.console)
	if err != nil {
		return nil, err
	}
	a := wire(t.console, cfg)
	w, err := outboxOf(a, name)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return &desk{target: t, cfg: cfg, poller: w.cfg, outbox: w.outbox, close: a.Close}, nil
}

// outboxOf returns a poller that is an outbox, without faults.
func outboxOf(a *app, name string) (*wired, error) {
	w, err := a.poller(strings.ToLower(name))
	if err != nil {
		return nil, err
	}
	if !isOutbox(w.cfg) {
		return nil, fmt.Errorf("%s is no outbox (source__mode=%s): rowrelay state and rowrelay deadletter are about it", w.cfg.Name, w.cfg.Source.Mode)
	}
	if err := refuse(a.cfg, []*wired{w}); err != nil {
		return nil, err
	}
	return w, nil
}

// end closes connections; what was to be written is written by now.
func (d *desk) end() {
	if d != nil {
		_ = d.close()
	}
}

// agreed shows what is about to be done and asks for the poller's name. It is false for a dry run.
func (d *desk) agreed(what string) (bool, error) {
	if err := d.say("%s", what); err != nil {
		return false, err
	}
	if d.dryRun {
		return false, d.idle("dry run: nothing was changed")
	}
	if d.yes {
		return true, nil
	}
	return true, confirm(d.console, d.poller.Name)
}

// audit writes to the log what an operator did: who, and what.
func (d *desk) audit(event string, args ...any) {
	log := newLogger(d.console, d.cfg)
	log.Warn("an operator changed the outbox", append([]any{"event", event, "poller", d.poller.Name, "by", operator()}, args...)...)
}
