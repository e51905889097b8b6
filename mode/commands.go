package mode

import (
	"fmt"
	"strings"
)

// Operation is something that a person does with a poller.
type Operation int

// The operations.
const (
	Inspect Operation = iota
	Pause
	Resume
	List       // dead letters; in an outbox all events
	ListDead   // dead letters, all of them
	ListFailed // events that failed and are tried again
	ShowOne
	Replay
	ReplayOne
	Purge
	PurgeOne
	Reset
	Backfill
)

// commands are the operations by mode. "{}" is the poller, with its output where the mode has one document for each;
// "<id>" is the event.
var commands = map[Mode]map[Operation]string{
	Cursor:         ofDocuments,
	ChangeTracking: ofDocuments,
	Leased: {
		Inspect:    "state show {}",
		Pause:      "state show {}",
		Resume:     "state show {}",
		List:       "state show {}",
		ListDead:   "state show {}",
		ListFailed: "state show {}",
		ShowOne:    "state show {}",
		Replay:     "state show {}",
		ReplayOne:  "state show {}",
		Purge:      "state show {}",
		PurgeOne:   "state show {}",
		Reset:      "state reset {}",
		Backfill:   "state reset {}",
	},
	Outbox: {
		Inspect:    "outbox status {}",
		Pause:      "outbox pause {}",
		Resume:     "outbox resume {}",
		List:       "outbox list {}",
		ListDead:   "outbox list {} --state dead --limit 0",
		ListFailed: "outbox list {} --state failed --limit 0",
		ShowOne:    "outbox list {} --id <seq>",
		Replay:     "outbox requeue {}",
		ReplayOne:  "outbox requeue {} --id <id>",
		Purge:      "outbox discard {}",
		PurgeOne:   "outbox discard {} --id <id>",
		Reset:      "outbox requeue {}",
		Backfill:   "outbox requeue {}",
	},
}

// ofDocuments are the commands about a state document.
var ofDocuments = map[Operation]string{
	Inspect:    "state show {}",
	Pause:      "state pause {}",
	Resume:     "state resume {}",
	List:       "deadletter list {}",
	ListDead:   "deadletter list {}",
	ListFailed: "state show {} --json",
	ShowOne:    "deadletter show {} <id>",
	Replay:     "deadletter replay {}",
	ReplayOne:  "deadletter replay {} <id>",
	Purge:      "deadletter purge {}",
	PurgeOne:   "deadletter purge {} <id>",
	Reset:      "state reset {}",
	Backfill:   "backfill {}",
}

// Command is the command line of an operation, for a poller of the mode. id is the event's, where the operation is
// about one.
func (m Mode) Command(o Operation, poller, id string) string {
	of, ok := commands[m]
	if !ok {
		of = commands[Cursor]
	}
	return "rowrelay " + strings.NewReplacer("{}", poller, "<id>", id).Replace(of[o])
}

// NoDocument refuses a command that works on a state document, for a poller of a mode without one. typed is the command
// as it was typed, such as "rowrelay state reset".
func (m Mode) NoDocument(poller, typed string) error {
	instead := Inspect
	for o := Inspect; o <= Backfill; o++ {
		if name, _, _ := strings.Cut(commands[Cursor][o], " {}"); strings.HasSuffix(typed, " "+name) {
			instead = o
			break
		}
	}
	if m.Can(Leases) {
		return fmt.Errorf("%s shares its changes by leases (source__leases): it has no state document, its position is in tables of "+
			"its database. Use %s, or %s", poller, m.Command(Inspect, poller, ""), m.Command(Reset, poller, ""))
	}
	return fmt.Errorf("%s is an outbox: it has no state document, its position is the state of its rows. Use %s",
		poller, m.Command(instead, poller, ""))
}

// NoMarks refuses a command that works on the states of events in their rows, for a poller of a mode without them.
func (m Mode) NoMarks(poller string) error {
	return fmt.Errorf("%s is no outbox (source__mode=%s): rowrelay state and rowrelay deadletter are about it",
		poller, m)
}

// NeedsTriggers refuses a command about triggers, for a poller of a mode without them.
func (m Mode) NeedsTriggers(poller string) error {
	if m.Can(Triggers) {
		return nil
	}
	return fmt.Errorf("%s has no triggers (source__mode=%s): rowrelay track is about source__mode=%s", poller, m,
		ChangeTracking)
}
