package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
)

// policyView is what check says of events that the destination refuses.
type policyView struct {
	// Attempts are the moments of the attempts, counted from the first, when each fails at once ("0s", "1s", "6s"). Of a long
	// list the first ten stand here.
	MaxAttempts int      `json:"max_attempts"`
	Attempts    []string `json:"attempts"`
	Meanwhile   string   `json:"meanwhile"`
	Then        string   `json:"then"`
}

// shownAttempts bounds the list of moments.
const shownAttempts = 10

func policyViewOf(p *config.Poller) policyView {
	v := policyView{MaxAttempts: p.MaxAttempts}
	at := time.Duration(0)
	for n := range min(p.MaxAttempts, shownAttempts) {
		if n > 0 && len(p.RetryDelays) > 0 {
			at += p.RetryDelays[min(n, len(p.RetryDelays))-1]
		}
		v.Attempts = append(v.Attempts, plain(at))
	}
	switch {
	case p.Source.Mode.Can(mode.Events) && p.Ordering == "key":
		v.Meanwhile = "the later events of its aggregate wait, however many they are, and other aggregates go on"
	case p.Source.Mode.Can(mode.Events) && p.Ordering == "none":
		v.Meanwhile = "all others go on"
	case p.Ordering == "source":
		v.Meanwhile = "the poller waits at the event"
	case p.Ordering == "none":
		v.Meanwhile = fmt.Sprintf("the event is parked and all others go on; at %d parked ones the poller stops (max_parked)", p.MaxParked)
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

// deadLettersAt says where the dead letters of one output go.
func deadLettersAt(a *app, p *config.Poller, output string) string {
	if p.DeadLetter.Kind == "queue" {
		return "queue " + p.DeadLetter.Queue + " of " + p.DeadLetter.ConnectionSetting
	}
	name := p.Name
	if output != "" {
		name += "." + output
	}
	return fmt.Sprintf("deadletters/%s/%s/ in the state store (%s)", a.cfg.State.AppName, name, storeName(&a.cfg.State))
}

// text is the policy for people.
func (v *policyView) text() string {
	moments := strings.Join(v.Attempts, ", ")
	if v.MaxAttempts > len(v.Attempts) {
		moments += ", …"
	}
	return fmt.Sprintf("an event that is refused has %d attempt(s): at %s\nmeanwhile %s\nthen it becomes a dead letter, and %s",
		v.MaxAttempts, moments, v.Meanwhile, v.Then)
}

// plain is a duration without parts that are zero: 2m36s, 1h, 0s.
func plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
