package status

import (
	"errors"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
)

// The pages that the status page leads to: the runbook, which the alerts lead to as well, and the words.
const (
	RunbookPage  = "https://github.com/rowrelay/rowrelay/blob/main/docs/operations.md#"
	GlossaryPage = "https://github.com/rowrelay/rowrelay/blob/main/docs/glossary.md"
)

// byEvent are the headings of that page about a tick that failed.
var byEvent = map[poller.Event]string{
	poller.CheckpointLoadFailed: "the-state-store-fails", poller.LeaseAcquireFailed: "the-state-store-fails",
	poller.CommitFailed: "the-state-store-fails", poller.StateGone: "the-state-document-is-gone",
	poller.FetchFailed: "the-source-cannot-be-read", poller.NormalizeFailed: "a-row-cannot-become-an-event",
	poller.HandlerFailed: "the-destination-fails", poller.LostLease: "the-lease-was-lost",
	poller.ConfigInvalid: "a-setting-is-wrong", poller.FingerprintMismatch: "the-sources-definition-changed",
	poller.SourceGap: "a-gap-in-the-source",
}

// byHealth are those about an output that is not failing.
var byHealth = map[Health]string{
	Silent: "rowrelaynosuccess", Blocked: "rowrelayheldback", Lagging: "rowrelaybacklog",
	Paused: "rowrelaypaused", Parked: "rowrelayparked",
}

// blameStore says what to do where the part that says most of an output could not be read.
func (q *Problem) blameStore(m mode.Mode, err error) {
	switch {
	case errors.Is(err, poller.ErrConfig): // its text says what to do
		q.Event = string(poller.ConfigInvalid)
	case m.Can(mode.Document):
		q.Event = string(poller.CheckpointLoadFailed)
		q.Mend = "do as the error says, or check the state store: state__connection, its container, the identity's role, the network"
	default:
		q.Event = string(poller.FetchFailed)
		q.Mend = "check the database of source__connection: its network, login and permissions"
	}
}

// Runbook is where it is said what to do about an output; "" where nothing is wrong.
func (o *Output) Runbook() string {
	heading := byHealth[o.Health]
	switch {
	case o.Health == Failing && len(o.Problems) > 0 && byEvent[poller.Event(o.Problems[0].Event)] != "":
		heading = byEvent[poller.Event(o.Problems[0].Event)] // see judge: it comes before what a tick told
	case o.Health == Failing && o.LastError != nil && byEvent[poller.Event(o.LastError.Event)] != "":
		heading = byEvent[poller.Event(o.LastError.Event)]
	case o.Health == Failing:
		heading = "rowrelayticksfailing"
	case o.Health == Blocked && o.HeldBack == nil, o.Health == Parked && o.DeadLetters == 0:
		heading = "rowrelayparked"
	case o.Health == Parked:
		heading = "rowrelaydeadletters"
	}
	if heading == "" {
		return ""
	}
	return RunbookPage + heading
}
