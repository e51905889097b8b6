package statuspage

import (
	"fmt"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/status"
)

// decide fills in what a replay or a purge is about, and what it will do. False: one of the letters is not listed.
func (c *confirmation) decide(o *status.Output, name string) bool {
	if c.Letters = lettersOf(o, c.Asked.Letters); c.Letters == nil {
		return false
	}
	c.Asked.Letters = nil
	for i := range c.Letters {
		c.Asked.Letters = append(c.Asked.Letters, c.Letters[i].ID)
	}
	what, it := fmt.Sprintf("these %d dead letters of %s", len(c.Letters), name), "them"
	if len(c.Letters) == 1 {
		what, it = "this dead letter of "+name, "it"
		if c.Blocked = c.Letters[0].Blocked; c.Blocked {
			what = "this parked event of " + name
		}
	}
	switch {
	case c.Asked.Do == doReplay:
		c.Title, c.Button, c.Will = "Replay "+what+"?", "Replay "+it, replayed(o)
		if c.Blocked {
			c.Will = append(c.Will, "What waits behind it follows once it is delivered; until then it stays where it is.")
		}
	case o.Mode.Can(mode.Marks):
		c.Title, c.Button = "Discard "+what+"?", "Discard "+it+" for good"
		c.Will = []string{"What is discarded is never published, which is data loss. What waits only behind it goes on."}
	default:
		c.Title, c.Button = "Purge "+what+"?", "Delete "+it+" for good"
		c.Will = []string{
			"The records are deleted, and with them the rows as they were. A row is delivered again only when it changes.",
			"What waits behind them goes on.",
		}
	}
	return true
}

func replayed(o *status.Output) []string {
	if o.Mode.Can(mode.Marks) {
		return []string{
			"The event becomes due at once, with its attempts forgotten, and is published again; what waits behind it follows in order.",
			"If it fails again, it is tried as often as max_attempts says, and is then given up again.",
		}
	}
	return []string{
		"The next tick reads the row again by its key and delivers its newest state, in order with everything else of that key.",
		"If it fails again, it is parked and given up again. A receiver that had already taken it gets it twice.",
		"If a tick is at work, the poller is paused until that has ended, and goes on by itself.",
	}
}

// lettersOf finds letters by their ids; nil where one of them is not listed.
func lettersOf(o *status.Output, ids []string) []status.Letter {
	var found []status.Letter
	for _, id := range ids {
		if id == allLetters {
			return o.Letters
		}
		letter := letterOf(o, id)
		if letter == nil {
			return nil
		}
		found = append(found, *letter)
	}
	return found
}

// letterOf finds what may be replayed: a parked event that waits for an operator, which may have no dead letter here
// (it lies in a queue, or is gone), or else a dead letter.
func letterOf(o *status.Output, id string) *status.Letter {
	for i := range o.Entries {
		if o.Entries[i].ID == id && o.Entries[i].Blocked {
			return &o.Entries[i]
		}
	}
	for i := range o.Letters {
		if o.Letters[i].ID == id {
			return &o.Letters[i]
		}
	}
	return nil
}
