package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

func newOutboxStatus(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "status <poller>",
		Short: "Show how many events there are in each state, and who publishes",
		Long: `Status counts the events of an outbox by state, says how old the oldest pending one is, and shows the instances that hold
claims now: their names, how many units (the table, partitions or aggregates), the fencing token and when the claims end
unless they are renewed. Counting may stop at a bound, which is shown as "at least".`,
		Example: `  rowrelay outbox status orders
  rowrelay outbox status orders --json | jq .oldest_pending_seconds`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.onOutbox(args[0], func(d *managedOutbox) error { return d.status(cmd.Context()) })
		},
	}
}

// outboxView is an outbox as commands show it.
type outboxView struct {
	Poller     string      `json:"poller"`
	Table      string      `json:"table"`
	Layout     string      `json:"layout"` // own or mapped
	Strategy   string      `json:"strategy"`
	Partitions int         `json:"partitions"` // 0 where the strategy has none
	Claims     string      `json:"claims_table"`
	Paused     string      `json:"paused,omitempty"` // by whom, when and why
	Pending    int64       `json:"pending"`
	Failed     int64       `json:"failed"`
	Waiting    int64       `json:"waiting"`
	Dead       int64       `json:"dead"`
	Bound      int64       `json:"counted_to,omitempty"` // a figure that is this large is at least that
	Oldest     float64     `json:"oldest_pending_seconds"`
	Owners     []ownerView `json:"owners"`
}

type ownerView struct {
	Name    string  `json:"name"`
	Token   uint64  `json:"fencing_token,string"`
	Units   int     `json:"units"`
	Expires float64 `json:"expires_in_seconds"`
}

func outboxViewOf(p *config.Poller, about *publisher.About) outboxView {
	f := &about.Figures
	v := outboxView{
		Poller: p.Name, Table: p.Source.Table, Layout: about.Layout, Strategy: string(about.Strategy),
		Partitions: about.Partitions,
		Claims:     p.Source.ClaimsTable, Paused: about.Paused, Pending: f.Pending, Failed: f.Failed, Waiting: f.Waiting,
		Dead:  f.Dead,
		Bound: f.Bound, Oldest: f.OldestPending.Seconds(), Owners: []ownerView{},
	}
	for _, o := range about.Owners {
		v.Owners = append(v.Owners, ownerView{o.Name, o.Token, o.Units, o.Expires.Seconds()})
	}
	return v
}

func (d *managedOutbox) status(ctx context.Context) error {
	about, err := d.Events.About(ctx)
	if err != nil {
		return err
	}
	v := outboxViewOf(d.poller, &about)
	if d.json {
		return encodeJSON(d.out, &v)
	}
	return v.print(d.out)
}

// print writes the view for people.
func (v *outboxView) print(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s  %s (%s columns), claims in %s", v.Poller, v.Table, v.Layout, v.Claims)
	p.field("strategy", v.strategy())
	p.field("paused", v.Paused)
	p.line("")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := &printer{w: table}
	rows.line("state\tevents\t")
	for _, row := range []struct {
		state event.State
		n     int64
	}{{event.Pending, v.Pending}, {event.Failed, v.Failed}, {event.Waiting, v.Waiting},
		{event.Dead, v.Dead}} {
		rows.line("%s\t%s\t", row.state, v.count(row.n))
	}
	if p.err == nil && rows.err == nil {
		rows.err = table.Flush()
	}
	p.line("")
	p.field("oldest", v.oldest())
	if len(v.Owners) == 0 {
		p.field("owners", "nobody publishes now")
	}
	for _, o := range v.Owners {
		p.field("owner", fmt.Sprintf("%s: %d unit(s), token %d, until %s from now unless renewed", o.Name, o.Units, o.Token,
			seconds(o.Expires)))
	}
	if p.err == nil {
		p.err = rows.err
	}
	return p.err
}

func (v *outboxView) strategy() string {
	if v.Partitions > 0 {
		return fmt.Sprintf("%s, %d partitions in force", v.Strategy, v.Partitions)
	}
	return v.Strategy
}

func (v *outboxView) oldest() string {
	if v.Oldest <= 0 {
		return "no event is pending"
	}
	return seconds(v.Oldest) + " is the age of the oldest pending event"
}

func (v *outboxView) count(n int64) string {
	if v.Bound > 0 && n >= v.Bound {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// encodeJSON prints one value as indented JSON.
func encodeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
