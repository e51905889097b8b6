// Package event holds the words of an outbox: the states of its events, the rows that are fetched, and the marks that a
// settlement makes of them.
package event

import (
	"slices"
	"strings"
)

// State is an event's state, as it stands in the column of that name.
type State string

// The states.
const (
	Pending   State = "PENDING"
	Published State = "PUBLISHED"
	Failed    State = "FAILED"
	Waiting   State = "WAITING"
	Dead      State = "DEAD LETTER"
	Discarded State = "DISCARDED"
	// Delayed is shown of an event that is to be published later (available_at). It is stored as FAILED with no attempt
	// and a next one that is to come: an instance of an earlier version keeps it, and the order behind it, as well.
	Delayed State = "DELAYED"
)

// States are those that are stored.
var States = []State{Pending, Published, Failed, Waiting, Dead, Discarded}

// Stored are states as they stand in the column, each once.
func Stored(states []State) (list []State) {
	for _, s := range states {
		if s == Delayed {
			s = Failed
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// Quoted writes states as literals: their names are ours.
func Quoted(states []State) string {
	list := make([]string, len(states))
	for i, s := range states {
		list[i] = "'" + string(s) + "'"
	}
	return strings.Join(list, ", ")
}
