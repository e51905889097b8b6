package state

import (
	"fmt"
	"strings"
)

// DocumentFault says what is wrong with a document.
type DocumentFault uint8

// The faults of a document.
const (
	// Malformed: it is JSON, but a member is missing or is not what it should be.
	Malformed DocumentFault = iota
	// Empty: there is nothing in it.
	Empty
	// Truncated: it ends too early.
	Truncated
	// NotJSON: it is something else.
	NotJSON
	// OtherVersion: it was written by a binary of another format version.
	OtherVersion
	// UnknownRequires: it needs a binary that knows a member that this one does not.
	UnknownRequires
	// OtherPoller: it belongs to a poller of another name.
	OtherPoller
	// TooLarge: it would not fit into MaxDocument.
	TooLarge
)

// String names the fault in words.
func (f DocumentFault) String() string {
	switch f {
	case Empty:
		return "is empty"
	case Truncated:
		return "is truncated"
	case NotJSON:
		return "is not JSON"
	case OtherVersion:
		return "has another format version"
	case UnknownRequires:
		return "requires a newer rowrelay"
	case OtherPoller:
		return "belongs to another poller"
	case TooLarge:
		return fmt.Sprintf("would be larger than %d bytes", MaxDocument)
	default:
		return "is not a state document"
	}
}

// DocumentError reports a document that cannot be used as it stands. Nothing was changed.
type DocumentError struct {
	Key    string
	Fault  DocumentFault
	Detail string // where, and what was found there
}

// Error says which document, what is wrong with it, and what to do about it.
func (e *DocumentError) Error() string {
	var b strings.Builder
	b.WriteString("state document ")
	if e.Key != "" {
		b.WriteString(e.Key + " ")
	}
	b.WriteString(e.Fault.String())
	if e.Detail != "" {
		b.WriteString(" (" + e.Detail + ")")
	}
	return b.String() + "; nothing was changed: " + e.Mend()
}

// afresh is the last resort, which delivers every row again. The fencing token goes on (Keeper.Reset).
const afresh = "or start afresh with `rowrelay state reset <poller> --to beginning`"

// Mend says what the operator can do.
func (e *DocumentError) Mend() string {
	switch e.Fault {
	case OtherVersion, UnknownRequires:
		return "use a newer rowrelay: this one changes nothing that it does not understand"
	case OtherPoller:
		return "give the poller its own document (state__app_name, the poller's name), " + afresh
	case TooLarge:
		return "shorten what the cursor and key columns hold"
	default:
		return "restore it from a copy (a blob's earlier version, a backup), " + afresh
	}
}
