package production

import (
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
)

// item is one line of the checklist: of the command, and of docs/production.md, which is written from this table.
// Exactly one of app and each is set.
type item struct {
	id, group string
	asks      string // what should hold, one sentence
	why       string // what goes wrong otherwise
	mend      string // how it is mended in general; an answer may say more
	app       func(f *inspect.App) Answer
	each      func(f *inspect.App, p *inspect.Poller) Answer
	needs     mode.Ability // of a poller that each is about; 0: none
	without   string       // why the item does not apply to a poller that lacks it
	untold    bool         // nothing that the command can see decides it
}

// The groups of the checklist, in their order.
const (
	groupApp       = "Application"
	groupState     = "State"
	groupTime      = "Time"
	groupSource    = "Source"
	groupSecurity  = "Security"
	groupOutput    = "Output and failures"
	groupOutbox    = "Outbox"
	groupOperation = "Operation"
)
