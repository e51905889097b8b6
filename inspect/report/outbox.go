package report

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Outbox is an outbox as commands show it.
type Outbox struct {
	Poller     string  `json:"poller"`
	Table      string  `json:"table"`
	Layout     string  `json:"layout"` // own or mapped
	Strategy   string  `json:"strategy"`
	Partitions int     `json:"partitions"` // 0 where the strategy has none
	Claims     string  `json:"claims_table"`
	Paused     string  `json:"paused,omitempty"` // by whom, when and why
	Pending    int64   `json:"pending"`
	Delayed    int64   `json:"delayed"`
	Failed     int64   `json:"failed"`
	Waiting    int64   `json:"waiting"`
	Dead       int64   `json:"dead"`
	Bound      int64   `json:"counted_to,omitempty"` // a figure that is this large is at least that
	Oldest     float64 `json:"oldest_pending_seconds"`
	Owners     []Owner `json:"owners"`
}

// Owner is an instance that publishes.
type Owner struct {
	Name    string  `json:"name"`
	Token   uint64  `json:"fencing_token,string"`
	Units   int     `json:"units"`
	Expires float64 `json:"expires_in_seconds"`
}

// OutboxOf describes the outbox of a poller.
func OutboxOf(p *config.Poller, about *publisher.About) Outbox {
	f := &about.Figures
	v := Outbox{
		Poller: p.Name, Table: p.Source.Table, Layout: about.Layout, Strategy: string(about.Strategy),
		Partitions: about.Partitions,
		Claims:     p.Source.ClaimsTable, Paused: about.Paused, Pending: f.Pending, Delayed: f.Delayed,
		Failed: f.Failed, Waiting: f.Waiting, Dead: f.Dead,
		Bound: f.Bound, Oldest: f.OldestPending.Seconds(), Owners: []Owner{},
	}
	for _, o := range about.Owners {
		v.Owners = append(v.Owners, Owner{o.Name, o.Token, o.Units, o.Expires.Seconds()})
	}
	return v
}

// WriteText writes it for people.
func (v *Outbox) WriteText(w io.Writer) error {
	p := &printing.Printer{W: w}
	p.Line("%s  %s (%s columns), claims in %s", v.Poller, v.Table, v.Layout, v.Claims)
	p.Field("strategy", v.strategy())
	p.Field("paused", v.Paused)
	p.Line("")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := &printing.Printer{W: table}
	rows.Line("state\tevents\t")
	for _, row := range []struct {
		state event.State
		n     int64
	}{{event.Pending, v.Pending}, {event.Delayed, v.Delayed}, {event.Failed, v.Failed}, {event.Waiting, v.Waiting},
		{event.Dead, v.Dead}} {
		rows.Line("%s\t%s\t", row.state, v.count(row.n))
	}
	if p.Err == nil && rows.Err == nil {
		rows.Err = table.Flush()
	}
	p.Line("")
	p.Field("oldest", v.oldest())
	if len(v.Owners) == 0 {
		p.Field("owners", "nobody publishes now")
	}
	for _, o := range v.Owners {
		p.Field("owner", fmt.Sprintf("%s: %d unit(s), token %d, until %s from now unless renewed", o.Name, o.Units, o.Token,
			printing.Seconds(o.Expires)))
	}
	if p.Err == nil {
		p.Err = rows.Err
	}
	return p.Err
}

func (v *Outbox) strategy() string {
	if v.Partitions > 0 {
		return fmt.Sprintf("%s, %d partitions in force", v.Strategy, v.Partitions)
	}
	return v.Strategy
}

func (v *Outbox) oldest() string {
	switch {
	case v.Oldest > 0:
	case v.Pending > 0:
		return "it is not known when the oldest pending event was written"
	default:
		return "no event is pending"
	}
	return printing.Seconds(v.Oldest) + " is the age of the oldest pending event"
}

func (v *Outbox) count(n int64) string { return printing.AtLeast(n, v.Bound) }

// Published is what check says of an outbox beside its status.
type Published struct {
	Outbox
	To        string        `json:"to"`
	Dead      string        `json:"dead_letters"`
	Cleanup   string        `json:"cleanup"`
	Fanout    string        `json:"fanout,omitempty"`
	Next      []event.Entry `json:"next"`           // the first pending events, without their payloads
	TakenOver string        `json:"taken_over"`     // how long after the death of an instance
	Mend      string        `json:"mend,omitempty"` // the command that creates what is missing
}

func publishedOf(p *inspect.Poller) *Published {
	s := &p.Config.Source
	v := &Published{
		To: p.Destinations[0], Dead: "the rows themselves, in the state DEAD LETTER",
		Cleanup: fmt.Sprintf("events published more than %s ago are deleted, %d at a time, at %s (rowrelay run)",
			inspect.Plain(s.Retention), s.CleanupChunk, s.CleanupSchedule),
		TakenOver: fmt.Sprintf("what a dead instance had claimed is free after %s (source__claim_ttl)",
			inspect.Plain(s.ClaimTTL)),
		Next: []event.Entry{}, Mend: p.Init,
	}
	if s.CleanupSchedule == "" {
		v.Cleanup = fmt.Sprintf("never (source__cleanup_schedule=none); rowrelay outbox cleanup deletes what was published more than %s ago", inspect.Plain(s.Retention))
	}
	if p.CleanupTimer != "" {
		v.Cleanup += "; under the Functions host at " + p.CleanupTimer + " (" + p.Config.Name + mode.CleanupSuffix + ")"
	}
	if p.Config.DeadLetter.Kind == "queue" {
		v.Dead += ", and a copy on the queue " + p.Config.DeadLetter.Queue + " of " + p.Config.DeadLetter.ConnectionSetting
	}
	if p.FanoutPeriod > 0 {
		v.Fanout = fmt.Sprintf("the timer puts a message for each partition with work on the queue %s of %s; each lives %s",
			s.FanoutQueue, s.FanoutSetting, inspect.Plain(p.FanoutPeriod))
	}
	if p.Outbox != nil {
		v.Outbox, v.Next = OutboxOf(p.Config, &p.Outbox.About), p.Outbox.Next
	}
	return v
}

// print writes what check says of an outbox for people.
func (v *Published) print(p *printing.Printer) {
	if v.Layout == "" {
		p.Field("to do", v.Mend)
	} else {
		p.Field("layout", fmt.Sprintf("%s columns, claims in %s", v.Layout, v.Claims))
		p.Field("strategy", v.strategy())
		p.Field("paused", v.Paused)
		p.Field("events", fmt.Sprintf("%s pending, %s delayed, %s failed, %s waiting, %s dead", v.count(v.Pending),
			v.count(v.Delayed), v.count(v.Failed), v.count(v.Waiting), v.count(v.Outbox.Dead)))
		p.Field("oldest", v.oldest())
		for _, o := range v.Owners {
			p.Field("owner", fmt.Sprintf("%s: %d unit(s), token %d", o.Name, o.Units, o.Token))
		}
	}
	p.Field("claims", v.TakenOver)
	p.Field("clean-up", v.Cleanup)
	p.Field("fan-out", v.Fanout)
	p.Field("output", v.To)
	p.Field("dead", v.Dead)
	for i := range v.Next {
		line, err := json.Marshal(v.Next[i])
		if err == nil {
			p.Field("next", string(line))
		}
	}
}
