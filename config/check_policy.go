package config

import (
	"fmt"
	"slices"
	"strings"
)

// lateModes are the values of source__late_commits under which a setting has an effect. With auto all of them may have.
var lateModes = []struct {
	key   string
	modes []string
}{
	{"source__late_window", []string{"overlap", "settle"}},
	{"source__late_limit", []string{"exact"}},
	{"source__on_long_transaction", []string{"exact"}},
	{"source__late_memory", []string{"exact", "overlap"}},
}

// checkLate judges what is said of late commits. Whether the mode is possible depends on the engine and the cursor: the
// source says that once it is connected.
func (l *loader) checkLate(p *pollerScopes) {
	s, src := p.own, &p.poller.Source
	l.checkBatchSize(p)
	if !s.ok("source__late_commits") {
		return
	}
	for _, m := range lateModes {
		if src.LateCommits != "auto" && !slices.Contains(m.modes, src.LateCommits) && s.has(m.key) && s.ok(m.key) {
			p.poller.Warnings.Add(s.named(m.key), "has no effect with source__late_commits="+src.LateCommits,
				"Remove it if it is not needed any more")
		}
	}
	if s.ok("source__late_memory", "batch_size", "batch_size_max") && src.LateMemory < p.poller.BatchSizeMax {
		s.fault("source__late_memory",
			fmt.Sprintf("%d is less than batch_size %d: not even the rows of one fetch can be remembered", src.LateMemory,
				p.poller.BatchSizeMax),
			"Raise it, or lower "+s.named("batch_size"))
	}
}

// maxBatchSize is the default of batch_size_max where no batch_size is set: who sets one wants batches of that size.
const maxBatchSize = 4000

// checkBatchSize judges how far batches may grow.
func (l *loader) checkBatchSize(p *pollerScopes) {
	const least, most = "batch_size", "batch_size_max"
	s, po := p.own, p.poller
	switch {
	case !s.ok(least, most):
	case s.has(most) && po.BatchSizeMax < po.BatchSize:
		s.fault(most, fmt.Sprintf("%d is less than batch_size %d", po.BatchSizeMax, po.BatchSize),
			"Raise it, or lower "+s.named(least))
	case s.has(most):
	case s.has(least):
		po.BatchSizeMax = po.BatchSize
	default:
		po.BatchSizeMax = maxBatchSize
		if s.ok("source__late_memory") && po.Source.LateMemory > 0 {
			po.BatchSizeMax = max(min(maxBatchSize, po.Source.LateMemory), po.BatchSize)
		}
	}
}

// checkPolicy judges what is said of events that are refused.
func (l *loader) checkPolicy(p *pollerScopes) {
	s, po := p.own, p.poller
	if !s.has("after_dead_letter") && po.Ordering != "key" {
		po.AfterDeadLetter = "release" // outbox mode's default keeps an aggregate waiting, where there is an order to keep
	}
	if po.AfterDeadLetter == "block" && po.Ordering != "key" && s.ok("after_dead_letter", "ordering") {
		s.fault("after_dead_letter", `"block" keeps an order key parked, and with ordering=`+po.Ordering+" none is",
			"Write release, or "+s.prefix+"ordering=key")
	}
	if po.Ordering == "source" && s.has("max_parked") && s.ok("max_parked", "ordering") {
		po.Warnings.Add(s.named("max_parked"),
			"has no effect with ordering=source: the poller waits at a refused event, and parks nothing",
			"Remove it if it is not needed any more")
	}
	if s.has("retry_delays") && s.ok("retry_delays", "max_attempts") && len(po.RetryDelays) >= po.MaxAttempts {
		po.Warnings.Add(s.named("retry_delays"),
			fmt.Sprintf("lists %d delays, of which max_attempts=%d uses %d", len(po.RetryDelays), po.MaxAttempts,
				po.MaxAttempts-1),
			"Shorten the list, or raise "+s.named("max_attempts"))
	}
	l.checkDeadLetter(p)
}

func (l *loader) checkDeadLetter(p *pollerScopes) {
	const connection, queue = "dead_letter__connection", "dead_letter__queue"
	s, to := p.own, &p.poller.DeadLetter
	if !s.ok("dead_letter__kind") {
		return
	}
	if to.Kind != "queue" {
		for _, key := range []string{connection, queue} {
			if s.has(key) && s.ok(key) {
				p.poller.Warnings.Add(s.named(key), "has no effect with dead_letter__kind="+to.Kind,
					"Write "+s.prefix+"dead_letter__kind=queue, or remove it")
			}
		}
		return
	}
	switch {
	case to.ConnectionSetting == "" && s.ok(connection):
		s.fault(connection, "is required with "+s.named("dead_letter__kind")+"=queue",
			"Name the setting that holds the storage connection, such as "+s.prefix+connection+"=AzureWebJobsStorage")
	case s.ok(connection):
		to.Connection = l.env.storage(s, connection, to.ConnectionSetting, queueService)
	}
	if to.Queue == "" && s.ok(queue) {
		to.Queue = defaultQueue(s, queue, p.poller.Name, "-dead")
	}
}

// checkDeadLetterQueue sees to it that dead letters are not taken for events: that no output sends to their queue.
func (l *loader) checkDeadLetterQueue(p *pollerScopes) {
	s, to := p.own, &p.poller.DeadLetter
	if to.Kind != "queue" || !s.ok("dead_letter__connection", "dead_letter__queue") {
		return
	}
	for i := range p.poller.Outputs {
		out := &p.poller.Outputs[i]
		if out.Kind == "queue" && out.Queue == to.Queue && out.Connection == to.Connection {
			s.fault("dead_letter__queue", fmt.Sprintf("%q is the queue of %s: its readers would take dead letters for events",
				to.Queue, outputTitle(out.Name)),
				"Name another queue, such as "+s.named("dead_letter__queue")+"="+strings.TrimSuffix(to.Queue, "-dead")+
					"-dead-letters")
			return
		}
	}
}

func outputTitle(name string) string {
	if name == "" {
		return "the output"
	}
	return "the output " + name
}

// unavailableStatuses say that a destination has no time now: nothing about the events of a request.
var unavailableStatuses = []int{408, 425, 429, 502, 503, 504}

func checkStatuses(p *Poller, s *scope, out *Output) {
	if !s.ok("reject_status") {
		return
	}
	for _, status := range out.RejectStatus {
		if slices.Contains(unavailableStatuses, status) {
			p.Warnings.Add(s.named("reject_status"),
				fmt.Sprintf("lists %d, by which a destination says that it is not available: its requests would not be repeated",
					status),
				"Remove it from the list")
		}
	}
}

// defaultQueue is the poller's name and a suffix, or a fault where no queue can have that name.
func defaultQueue(s *scope, key, name, suffix string) string {
	_, f := queueName.Parse(name + suffix)
	if f == nil {
		return name + suffix
	}
	suggestion := strings.ReplaceAll(name, "_", "-") + suffix
	if _, f := queueName.Parse(suggestion); f != nil {
		suggestion = queueName.Example + suffix
	}
	its := "its default"
	if suffix != "" {
		its = "of which its default is made"
	}
	s.fault(key, fmt.Sprintf("is not set, and the poller's name %q, %s, %s", name, its, f.Problem),
		"Set it, such as "+s.named(key)+"="+suggestion)
	return ""
}
