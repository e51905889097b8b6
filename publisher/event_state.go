package publisher

import "strings"

// State is an event's state, as it stands in the column of that name.
type State string

// The states.
const (
	Pending    State = "PENDING"
	Publishing State = "PUBLISHING"
	Published  State = "PUBLISHED"
	Failed     State = "FAILED"
	Waiting    State = "WAITING"
	Dead       State = "DEAD LETTER"
	Discarded  State = "DISCARDED"
)

// states are all of them.
var states = []State{Pending, Publishing, Published, Failed, Waiting, Dead, Discarded}

// quoted writes states as literals: their names are ours.
func quoted(states []State) string {
	list := make([]string, len(states))
	for i, s := range states {
		list[i] = "'" + string(s) + "'"
	}
	return strings.Join(list, ", ")
}
