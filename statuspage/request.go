package statuspage

import "github.com/rowrelay/rowrelay/status"

// request is what a button asks for.
type request struct {
	Do, Poller, Output string
	Letters            []string // ids; in an address allLetters too
}

// confirmation is what the page says before anything is done.
type confirmation struct {
	Asked   request
	Title   string // Pause orders?
	Button  string // Pause orders
	Will    []string
	Command string // that does the same
	// Letters are those that it is about; Blocked: the only one is parked, and waits for an operator.
	Letters []status.Letter
	Blocked bool
}

// The actions, as forms and scripts name them.
const (
	doPause  = "pause"
	doResume = "resume"
	doReplay = "replay"
	doPurge  = "purge"
)

// doShow, in an address, asks for a dead letter with its row. It is no action: no form has it.
const doShow = "show"

// allLetters, as a letter in an address, is every dead letter that the page lists of the output, by the filter in it.
// A form to be confirmed names each.
const allLetters = "*"

// aboutLetters reports whether a request is about dead letters.
func (r *request) aboutLetters() bool { return r.Do == doReplay || r.Do == doPurge }

func fullName(o *status.Output) string {
	if o.Output == "" {
		return o.Poller
	}
	return o.Poller + " · " + o.Output
}
