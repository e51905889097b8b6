package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/mode"
)

// checkOutbox judges what is said of an outbox. Whether its columns are there is for the database to say.
func (l *loader) checkOutbox(p *pollerScopes) {
	s, src := p.own, &p.poller.Source
	src.Location = time.UTC // of what the database's clock says
	if s.ok("source__connection") {
		src.Connection = l.env.database(s, "source__connection", src.ConnectionSetting)
	}
	if !s.has("source__table") && s.ok("source__table", "source__query") {
		s.fault("source__table", "is required", "Name the outbox, such as "+s.prefix+"source__table=outbox")
	}
	if src.Map["on_published"] != "" && src.Map["on_published"] != "mark" && src.Map["on_published"] != "delete" &&
		s.ok("source__map__on_published") {
		s.fault("source__map__on_published",
			fmt.Sprintf("%q is none of the values that this option takes", src.Map["on_published"]), "Write mark or delete")
	}
	const strategy = "source__strategy"
	if s.ok(strategy, "ordering") && p.poller.Ordering == "source" && src.Strategy != "leader" {
		s.fault(strategy, "must be leader with ordering=source: of several instances that publish, none knows the order of all events",
			"Write "+s.prefix+strategy+"=leader, or "+s.prefix+"ordering=key")
	}
	if src.Strategy == "leader" && s.has("source__partitions") &&
		s.ok("source__partitions", strategy) {
		p.poller.Warnings.Add(s.named("source__partitions"), "has no effect with source__strategy="+src.Strategy,
			"Remove it if it is not needed any more")
	}
	l.checkFanout(p)
}

// checkFanout judges what is said of the queue through which the work is handed out.
func (l *loader) checkFanout(p *pollerScopes) {
	const connection, queue, strategy = "source__fanout_connection", "source__fanout_queue", "source__strategy"
	s, src := p.own, &p.poller.Source
	switch {
	case !s.has(connection) && !s.has(queue):
		return
	case !s.has(queue) && s.ok(connection, queue):
		s.fault(queue, "is required with "+s.named(connection),
			"Name the queue, such as "+s.prefix+queue+"="+strings.ReplaceAll(p.poller.Name, "_", "-")+"-partitions")
	case !s.has(connection) && s.ok(connection, queue):
		s.fault(connection, "is required with "+s.named(queue),
			"Name the setting that holds the storage connection, such as "+s.prefix+connection+"=AzureWebJobsStorage")
	case src.Strategy != "" && src.Strategy != "partitioned" && s.ok(strategy, connection):
		s.fault(connection, "needs source__strategy=partitioned: what is handed to other instances are partitions",
			"Write "+s.prefix+strategy+"=partitioned, or remove it")
	}
	if s.has(connection) && s.ok(connection) {
		src.Fanout = l.env.storage(s, connection, src.FanoutSetting, queueService)
	}
}

// checkPolling judges the waits of a source that is drained.
func (l *loader) checkPolling(p *pollerScopes) {
	const least, most = "poll_interval", "poll_interval_max"
	s, po := p.own, p.poller
	if !s.has(most) {
		po.PollIntervalMax = max(po.PollIntervalMax, po.PollInterval)
		return
	}
	switch {
	case !s.ok(least, most):
	case po.PollInterval == 0:
		po.Warnings.Add(s.named(most), "has no effect with poll_interval=0: the tick ends when the source is drained",
			"Set "+s.named(least)+" too, or remove it")
	case po.PollIntervalMax < po.PollInterval:
		s.fault(most, fmt.Sprintf("%s is shorter than poll_interval %s", po.PollIntervalMax, po.PollInterval),
			"Raise it, or lower "+s.named(least))
	}
}

// refuseFurther says that an outbox has one output, at whatever was set of another.
func (l *loader) refuseFurther(p *pollerScopes, s *scope) {
	key := s.keys()[0]
	if p.own.mode == mode.Leased {
		s.fault(key, "is a further output, and changes that are shared by leases have one: a lease cannot say to which",
			"Remove the output, or describe a further poller with another source__function_name")
		return
	}
	s.fault(key, "is a further output, and source__mode=outbox has one: that an event is published is the state of its row, which cannot say where",
		"Remove the output; to send events to several places, let the broker do it, or describe a further poller on a table of its own")
	if len(p.outputs) == 1 {
		p.poller.Faults.Add(p.own.prefix+"output__kind", "is required: the poller has no output",
			"Set it to http, queue, stdout or a broker")
	}
}
