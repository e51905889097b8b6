// Package event holds the words of an outbox: the states of its events, the rows that are fetched, and the marks that a
// settlement makes of them.
package event

import "strings"

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
)

// States are all of them.
var States = []State{Pending, Published, Failed, Waiting, Dead, Discarded}

// Quoted writes states as literals: their names are ours.
func Quoted(states []State) string {
	list := make([]string, len(states))
	for i, s := range states {
		list[i] = "'" + string(s) + "'"
	}
	return strings.Join(list, ", ")
}
