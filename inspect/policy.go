package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
)

// Policy is what becomes of events that the destination refuses.
type Policy struct {
	// Attempts are the moments of the attempts, counted from the first, when each fails at once ("0s", "1s", "6s"). Of a
	// long list the first ten stand here.
	MaxAttempts int      `json:"max_attempts"`
	Attempts    []string `json:"attempts"`
	Meanwhile   string   `json:"meanwhile"`
	Then        string   `json:"then"`
}

// shownAttempts bounds the list of moments.
const shownAttempts = 10

// PolicyOf is the policy that settings make.
func PolicyOf(p *config.Poller) Policy {
	v := Policy{MaxAttempts: p.MaxAttempts}
	at := time.Duration(0)
	for n := range min(p.MaxAttempts, shownAttempts) {
		if n > 0 && len(p.RetryDelays) > 0 {
			at += p.RetryDelays[min(n, len(p.RetryDelays))-1]
		}
		v.Attempts = append(v.Attempts, Plain(at))
	}
	switch {
	case p.Source.Mode.Can(mode.Leases):
		v.Meanwhile = "its row waits, however many there are, and all others go on"
	case p.Source.Mode.Can(mode.Events) && p.Ordering == "key":
		v.Meanwhile = "the later events of its aggregate wait, however many they are, and other aggregates go on"
	case p.Source.Mode.Can(mode.Events) && p.Ordering == "none":
		v.Meanwhile = "all others go on"
	case p.Ordering == "source":
		v.Meanwhile = "the poller waits at the event"
	case p.Ordering == "none":
		v.Meanwhile = fmt.Sprintf("the event is parked and all others go on; at %d parked ones the poller stops (max_parked)",
			p.MaxParked)
	default:
		v.Meanwhile = fmt.Sprintf("its order key is parked and the others go on; at %d parked events and followers the poller stops (max_parked)", p.MaxParked)
	}
	v.Then = "what comes after it is delivered (after_dead_letter=release)"
	if p.AfterDeadLetter == "block" {
		v.Then = "its order key stays parked until the dead letter is replayed or purged (after_dead_letter=block)"
		if p.Source.Mode.Can(mode.Events) {
			v.Then = "its aggregate waits until the dead letter is requeued or discarded (after_dead_letter=block)"
		}
	}
	return v
}

// String is the policy for people.
func (v Policy) String() string {
	moments := strings.Join(v.Attempts, ", ")
	if v.MaxAttempts > len(v.Attempts) {
		moments += ", …"
	}
	return fmt.Sprintf("an event that is refused has %d attempt(s): at %s\nmeanwhile %s\nthen it becomes a dead letter, and %s",
		v.MaxAttempts, moments, v.Meanwhile, v.Then)
}
