package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
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

// desk opens the outbox of a poller. Nothing is published here: of its settings only those of the table and the claims have to
// be right, so that it can be paused, or looked into, while others are being mended.
func (t *target) desk(name string) (*desk, error) {
	cfg, err := t.config()
	if err != nil {
		return nil, err
	}
	a := &app{cfg: cfg}
	w, err := a.tableOf(name)
	if err != nil {
		return nil, err
	}
	pub, err := publisher.New(publisherConfig(a, t.console, w.cfg, nil), w.conn)
	if err != nil {
		return nil, fmt.Errorf("pollers__%s__source: %w", w.cfg.Name, err)
	}
	return &desk{target: t, cfg: cfg, poller: w.cfg, outbox: pub, close: pub.Close}, nil
}

// atDesk opens the outbox of a poller for some work on it.
func (t *target) atDesk(name string, work func(*desk) error) error {
	d, err := t.desk(name)
	if err != nil {
		return err
	}
	defer d.end()
	return flat(work(d))
}

// flat is an error on one line: a driver may say the failure of each address on a line of its own.
func flat(err error) error {
	if err == nil || !strings.ContainsAny(err.Error(), "\r\n") {
		return err
	}
	return &flatError{err}
}

type flatError struct{ err error }

func (e *flatError) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e *flatError) Unwrap() error { return e.err }

// tableOf returns a poller that is an outbox, connected, without faults that concern its table. Nothing else of it is wired.
func (a *app) tableOf(name string) (*wired, error) {
	for _, p := range a.cfg.Pollers {
		a.pollers = append(a.pollers, &wired{cfg: p})
	}
	w, err := a.poller(strings.ToLower(name))
	if err != nil {
		return nil, err
	}
	for _, f := range w.cfg.Faults {
		if aboutTable(w.cfg, f.Setting) {
			w.faults = append(w.faults, f)
		}
	}
	if len(w.faults) == 0 {
		a.connect(w)
	}
	switch {
	case len(w.faults) > 0:
		return nil, fmt.Errorf("the settings have %d fault(s):\n%w", len(w.faults), w.faults)
	case !w.cfg.Source.Mode.Can(mode.Marks):
		return nil, w.cfg.Source.Mode.NoMarks(w.cfg.Name)
	}
	return w, nil
}

// aboutTable reports whether a setting says where a poller's outbox and its claims are, what is in its columns, or which events
// wait behind others there.
func aboutTable(p *config.Poller, setting string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(setting), "pollers__"+p.Name+"__")
	if !ok { // the setting that holds a connection, or a misspelt name
		lower := strings.ToLower(setting)
		for _, name := range []string{strings.ToLower(p.Source.ConnectionSetting), strings.ToLower(p.Source.Connection.Setting)} {
			if lower == name || strings.HasPrefix(lower, name+"__") {
				return true
			}
		}
		return strings.HasPrefix(lower, "poll") && strings.Contains(lower, "source")
	}
	switch {
	case strings.HasPrefix(rest, "source__fanout_"), rest == "source__cleanup_schedule":
		return false
	default:
		return strings.HasPrefix(rest, "source__") || rest == "ordering" || rest == "after_dead_letter"
	}
}

// end closes connections; what was to be written is written by now.
func (d *desk) end() {
	_ = d.close()
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
	d.auditLog(d.cfg).Warn("an operator changed the outbox", append([]any{"event", event, "poller", d.poller.Name, "by", d.who()}, args...)...)
}
