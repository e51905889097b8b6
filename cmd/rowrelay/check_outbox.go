package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// checkedOutbox is what check says of an outbox beside its status.
type checkedOutbox struct {
	outboxView
	To        string        `json:"to"`
	Dead      string        `json:"dead_letters"`
	Cleanup   string        `json:"cleanup"`
	Fanout    string        `json:"fanout,omitempty"`
	Next      []event.Entry `json:"next"`           // the first pending events, without their payloads
	TakenOver string        `json:"taken_over"`     // how long after the death of an instance
	Mend      string        `json:"mend,omitempty"` // the command that creates what is missing
}

// checkOutbox looks into an outbox, and changes nothing.
func (p *pollerView) checkOutbox(ctx context.Context, c *console, a *app, w *wired, host *hostFile, rows int) {
	s := &w.cfg.Source
	d := &desk{target: &target{console: c}, cfg: a.cfg, poller: w.cfg, outbox: w.outbox}
	v := &checkedOutbox{
		To: destination(&w.cfg.Outputs[0]), Dead: "the rows themselves, in the state DEAD LETTER",
		Cleanup:   fmt.Sprintf("events published more than %s ago are deleted, %d at a time, at %s (rowrelay run)", plain(s.Retention), s.CleanupChunk, s.CleanupSchedule),
		TakenOver: fmt.Sprintf("what a dead instance had claimed is free after %s (source__claim_ttl)", plain(s.ClaimTTL)),
		Next:      []event.Entry{},
	}
	if s.CleanupSchedule == "" {
		v.Cleanup = fmt.Sprintf("never (source__cleanup_schedule=none); rowrelay outbox cleanup deletes what was published more than %s ago", plain(s.Retention))
	}
	if w.cfg.DeadLetter.Kind == "queue" {
		v.Dead += ", and a copy on the queue " + w.cfg.DeadLetter.Queue + " of " + w.cfg.DeadLetter.ConnectionSetting
	}
	p.Outbox = v
	p.checkFunctions(c, w, host, v)
	about, err := w.outbox.About(ctx)
	if err != nil {
		p.fault(err)
		if errors.Is(err, poller.ErrConfig) {
			v.Mend = "rowrelay outbox init " + w.cfg.Name
			if foreign, _ := isForeign(ctx, w, false); foreign {
				v.Mend += " --beside"
			}
		}
		return
	}
	v.outboxView = outboxViewOf(d, &about)
	p.Engine, p.Table = about.Engine, about.Table
	p.Warnings = append(p.Warnings, about.Warnings...)
	p.Warnings = append(p.Warnings, strategyWarnings(&about, w)...)
	if about.Figures.Dead > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d dead letter(s) hold their aggregates up: rowrelay outbox list %s --state dead", about.Figures.Dead, w.cfg.Name))
	}
	if rows > 0 {
		p.fault(w.outbox.List(ctx, event.Filter{States: []event.State{event.Pending}, Limit: rows}, func(e event.Entry) error {
			v.Next = append(v.Next, e)
			return nil
		}))
	}
}

// strategyWarnings are what does not suit the table, the engine or the host.
func strategyWarnings(about *publisher.About, w *wired) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	s := &w.cfg.Source
	switch {
	case about.Strategy == claims.Leader && s.FanoutQueue != "":
		add("source__fanout_queue has no effect: with the strategy leader one instance publishes everything; partitions need a bucket column (rowrelay outbox init)")
	case about.Strategy == claims.SkipLocked && w.conn.Engine == "sqlite":
		add("skip_locked gains nothing on SQLite, which has one writer at a time, and writes each event twice: use leader")
	case s.Strategy == string(claims.Partitioned) && w.conn.Engine == "sqlite": // chosen by somebody, not by default
		add("partitions gain little on SQLite, which has one writer at a time and lives on one machine: leader is enough")
	}
	if about.Strategy == claims.Partitioned && about.Partitions > 0 && about.Partitions != s.Partitions {
		add("%d partitions are in force, and source__partitions is %d: it takes effect when no instance holds a claim (rowrelay outbox pause %s, then resume)", about.Partitions, s.Partitions, w.cfg.Name)
	}
	if n := len(about.Owners); about.Strategy == claims.Partitioned && about.Partitions > 0 && n > about.Partitions {
		add("%d instances share %d partitions: the others are idle; raise source__partitions", n, about.Partitions)
	}
	if w.cfg.AfterDeadLetter == "release" {
		add("after_dead_letter=release publishes what comes after a dead letter of an aggregate: its order is broken when the dead letter is requeued")
	}
	return list
}

// checkFunctions says what the Functions host needs beside the poller's own function.
func (p *pollerView) checkFunctions(c *console, w *wired, host *hostFile, v *checkedOutbox) {
	if host.err != nil {
		return // standalone
	}
	p.Warnings = append(p.Warnings, leftovers(c, w.cfg)...)
	s := &w.cfg.Source
	name := w.cfg.Name + handler.CleanupSuffix
	timer, err := readFunction(appRoot(c), name)
	switch {
	case s.CleanupSchedule == "":
	case errors.Is(err, fs.ErrNotExist):
		p.Warnings = append(p.Warnings, fmt.Sprintf("there is no %s/function.json: published events are never deleted under the Functions host until `rowrelay functions` has written it", name))
	case err != nil:
		p.Faults = append(p.Faults, err.Error())
	default:
		v.Cleanup += "; under the Functions host at " + timer.Schedule + " (" + name + ")"
	}
	if s.FanoutQueue == "" {
		return
	}
	v.Fanout = fmt.Sprintf("the timer puts a message for each partition with work on the queue %s of %s; each lives %s", s.FanoutQueue, s.FanoutSetting, plain(timerPeriod(c, w.cfg.Name)))
	if !host.bundle() {
		p.Faults = append(p.Faults, host.path+": extensionBundle is missing, without which the host knows no queue triggers: write "+bundleText)
	}
	name = w.cfg.Name + handler.PartitionSuffix
	if _, err := os.Stat(filepath.Join(appRoot(c), name, "function.json")); err != nil {
		p.Faults = append(p.Faults, fmt.Sprintf("there is no %s/function.json, and the timer only hands partitions out (source__fanout_queue): nothing is published under the Functions host until `rowrelay functions` has written it", name))
	}
	if n := host.Extensions.Queues.MaxDequeueCount; n != 1 {
		p.Warnings = append(p.Warnings, host.path+`: extensions.queues.maxDequeueCount is not 1: a partition that failed is tried again at once, and again; the next timer does it anyway: write `+queuesText)
	}
	if host.Extensions.Queues.MaxPollingInterval == "" {
		p.Warnings = append(p.Warnings, host.path+`: extensions.queues.maxPollingInterval is missing: the host looks into a queue that was empty only once a minute: write `+queuesText)
	}
}

// What host.json needs for fan-out.
const (
	bundleText = `"extensionBundle":{"id":"Microsoft.Azure.Functions.ExtensionBundle","version":"[4.*, 5.0.0)"}`
	queuesText = `"extensions":{"queues":{"maxDequeueCount":1,"maxPollingInterval":"00:00:02"}}`
)

// print writes what check says of an outbox for people.
func (v *checkedOutbox) print(p *printer) {
	if v.Layout == "" {
		p.field("mend", v.Mend)
	} else {
		p.field("layout", fmt.Sprintf("%s columns, claims in %s", v.Layout, v.Claims))
		p.field("strategy", v.strategy())
		p.field("paused", v.Paused)
		p.field("events", fmt.Sprintf("%s pending, %s failed, %s waiting, %s dead", v.count(v.Pending), v.count(v.Failed), v.count(v.Waiting), v.count(v.outboxView.Dead)))
		p.field("oldest", v.oldest())
		for _, o := range v.Owners {
			p.field("owner", fmt.Sprintf("%s: %d unit(s), token %d", o.Name, o.Units, o.Token))
		}
	}
	p.field("claims", v.TakenOver)
	p.field("clean-up", v.Cleanup)
	p.field("fan-out", v.Fanout)
	p.field("output", v.To)
	p.field("dead", v.Dead)
	for i := range v.Next {
		line, err := json.Marshal(v.Next[i])
		if err == nil {
			p.field("next", string(line))
		}
	}
}
