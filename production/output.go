package production

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
)

func outputItems() []item {
	return []item{
		{
			id: "idempotent", group: groupOutput, asks: "receivers bear every event twice", each: judgeIdempotent, untold: true,
			why:  "Delivery is at-least-once: docs/duplicates.md lists when an event comes again.",
			mend: "send the receiver one event twice, and a batch of which it has seen a part (docs/duplicates.md has ways to be idempotent and a test for each)",
		},
		{
			id: "signature", group: groupOutput, asks: "a receiver of HTTP can tell that it is us", each: judgeSignature,
			why:  "Otherwise anybody who knows the URL can send events. A key in the URL is kept in logs on the way.",
			mend: "set output__secret (Standard Webhooks), or send a key in a header: output__headers__x_functions_key",
		},
		{
			id: "queues", group: groupOutput, asks: "the queues of events and of dead letters are there", each: judgeQueues,
			why:  "Events to a queue that is missing are held back, and dead letters keep their key parked.",
			mend: "create the queue, and give the identity Storage Queue Data Message Sender (which may not see whether the queue is there: then look yourself)",
		},
		{
			id: "attempts", group: groupOutput, asks: "a refused event is tried long enough, and where it ends is known",
			each: judgeAttempts,
			why:  "An event is given up after max_attempts. When all of them fall into a few seconds, a short fault of the receiver's makes dead letters.",
			mend: "raise max_attempts, or lengthen retry_delays: the defaults last 2m36s",
		},
		{
			id: "held", group: groupOutput, asks: "nothing is paused, parked or dead-lettered now", each: judgeHeld,
			why:  "What is set aside before the start is forgotten after it.",
			mend: "look at it: rowrelay state show, rowrelay deadletter list, rowrelay outbox status",
		},
		{
			id: "ordering", group: groupOutput, asks: "events of one key stay in order", each: judgeOrdering,
			why: "With ordering=none an older state may arrive after a newer one. With ordering=source one receiver that is slow or refuses holds " +
				"everything.",
			mend: "use ordering=key; with none the receiver has to compare versions: then accept this item (--accept ordering)",
		},
	}
}

func judgeIdempotent(_ *inspect.App, p *inspect.Poller) Answer {
	return unknown("", "only the receiver knows: %s", list(p.Destinations))
}

func judgeSignature(_ *inspect.App, p *inspect.Poller) Answer {
	var seen, unproved []string
	for i := range p.Config.Outputs {
		out := &p.Config.Outputs[i]
		if out.Kind != "http" {
			continue
		}
		if name := keyInURL(out); name != "" {
			return bad("send it in a header: output__headers__x_functions_key for a function", "the URL carries a secret, in %s",
				name)
		}
		names := slices.Sorted(maps.Keys(out.Headers))
		proofs := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !proves(name) })
		switch {
		case out.Secret != "":
			seen = append(seen, "requests are signed (output__secret)")
		case out.Auth == "entra", out.Auth == "oauth2":
			seen = append(seen, "a token says who sends (output__auth); a signature would prove the body too")
		case out.ClientCertificate != "":
			seen = append(seen, "a certificate says who sends (output__client_certificate)")
		case len(proofs) > 0:
			seen = append(seen, "the header "+list(proofs)+" says who sends; a signature would prove the body too")
		case len(names) > 0:
			unproved = append(unproved, names...)
		default:
			return bad("", "no output__secret, and no header with a key")
		}
	}
	switch {
	case len(unproved) > 0:
		return unknown("set output__secret (Standard Webhooks), unless the receiver knows us by a secret in that header",
			"no output__secret, and whether the header %s proves who sends does not show in its name", list(unproved))
	case len(seen) == 0:
		return none("no output of kind http")
	}
	return good("%s", strings.Join(seen, "; "))
}

// proves reports whether the name of a header says that its value is a secret. "X-Design" and "X-Author" do not.
func proves(header string) bool {
	for word := range strings.SplitSeq(strings.ToLower(header), "-") {
		switch word {
		case "authorization", "authentication", "auth", "cookie", "sig", "signature":
			return true
		}
		for _, says := range []string{"key", "token", "secret"} { // ApiKey and AuthToken too, which are one word in a header
			if strings.HasSuffix(word, says) {
				return true
			}
		}
	}
	return false
}

func judgeQueues(_ *inspect.App, p *inspect.Poller) Answer {
	if p.Queues == nil {
		return notKnown(p.Because())
	}
	if len(p.Queues) == 0 {
		return none("no queue of a storage account; dead letters go to %s", p.DeadLetters)
	}
	var unseen, unmade []string
	for _, name := range slices.Sorted(maps.Keys(p.Queues)) {
		switch err := p.Queues[name]; {
		case errors.Is(err, azure.ErrDenied):
			unseen = append(unseen, fmt.Sprintf("%s (%v)", name, err))
		case errors.Is(err, inspect.ErrUnmade):
			unmade = append(unmade, name)
		case err != nil:
			return bad("", "%s: %v", name, err)
		}
	}
	if len(unseen) > 0 {
		return unknown("see in the portal that the queue is there, and that the identity has Storage Queue Data Message Sender",
			"not shown to this login, which may only send, as it should, or not even that: %s", list(unseen))
	}
	if len(unmade) > 0 {
		return unknown("create it, or see that the identity has Storage Queue Data Contributor: a sender may not create",
			"not there yet: %s; the first message makes it, if the identity may", list(unmade))
	}
	return good("%s", list(slices.Sorted(maps.Keys(p.Queues))))
}

// shortestTrial is how long the attempts of a refused event should last.
const shortestTrial = 30 * time.Second

func judgeAttempts(_ *inspect.App, p *inspect.Poller) Answer {
	cfg := p.Config
	var lasts time.Duration
	for n := 1; n < cfg.MaxAttempts && len(cfg.RetryDelays) > 0; n++ {
		lasts += cfg.RetryDelays[min(n, len(cfg.RetryDelays))-1]
	}
	seen := fmt.Sprintf("%d attempt(s) over %s, then %s", cfg.MaxAttempts, inspect.Plain(lasts), p.DeadLetters)
	if lasts < shortestTrial {
		return bad("", "%s", seen)
	}
	return good("%s", seen)
}

func judgeHeld(_ *inspect.App, p *inspect.Poller) Answer {
	var held []string
	unread := ""
	add := func(n int64, what string) {
		if n > 0 {
			held = append(held, fmt.Sprintf("%d %s", n, what))
		}
	}
	switch {
	case p.Broken != "":
		return notKnown(p.Broken)
	case p.Letters.StoredErr != nil:
		return unknown("see state-reached", "the dead letters cannot be listed: %v", p.Letters.StoredErr)
	case p.Letters.QueuedErr != nil || p.Letters.Queued == nil && p.DeadQueue() != "":
		unread = "how many dead letters wait in the queue " + p.DeadQueue() + " is not shown to this login"
	}
	for _, out := range p.Outputs {
		if out.Paused != "" {
			held = append(held, "paused "+out.Paused)
		}
		add(int64(out.Parked), "parked event(s)")
	}
	if p.Outbox != nil {
		if p.Outbox.Paused != "" {
			held = append(held, "paused "+p.Outbox.Paused)
		}
		add(p.Outbox.Figures.Dead, "dead letter(s)")
		add(p.Outbox.Figures.Failed, "failed event(s)")
	}
	add(int64(p.Letters.Stored), "dead letter(s)")
	if p.Letters.Queued != nil {
		add(*p.Letters.Queued, "dead letter(s) in the queue "+p.DeadQueue())
	}
	if len(held) > 0 {
		return bad("", "%s", list(held))
	}
	if unread != "" {
		return unknown("look into the queue: nothing else is held", "%s", unread)
	}
	return good("nothing")
}

func judgeOrdering(_ *inspect.App, p *inspect.Poller) Answer {
	cfg := p.Config
	switch cfg.Ordering {
	case "none":
		return bad("", "ordering=none")
	case "source":
		return good("ordering=source: one lane for everything; concurrency=%d has no effect", cfg.Concurrency)
	}
	key := "the key"
	switch {
	case p.Can(mode.Events):
		key = "the aggregate"
	case len(cfg.Source.OrderKey) > 0:
		key = list(cfg.Source.OrderKey)
	}
	if found := p.Table.Late; found != nil && found.Order != "" {
		return bad(late.OrderMend, "by %s, but %s", key, found.Order)
	}
	return good("by %s, %d lane(s)", key, cfg.Concurrency)
}
