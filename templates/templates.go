// Package templates holds the function.json that makes a poller a timer function of the Azure
// Functions host. `rowrelay functions` writes one for each poller; copying poller.json to
// <poller>/function.json and replacing <POLLER> does the same.
//
// The template has no "retry": a failed tick is retried by the next one, which reads the checkpoint
// again, while the host's retry policy would hold up the timer and repeat in memory only. It has
// "useMonitor", by which the host remembers the last run of schedules of a minute and more, and
// catches up after a restart.
//
// An outbox has cleanup.json, a timer for its clean-up, and for fan-out partition.json, which a queue
// message starts for each partition with work. Queue triggers need the extension bundle in host.json.
//
// status.json and statusactions.json make the status page two HTTP functions: to look, with a function key, and to act,
// with the admin key. Their routes do not clash: status and status.json, and status/actions.
//
// host.json starts the program; host-queues.json also lets the host know of queue triggers. The first is the
// repository's own.
package templates

import (
	"bytes"
	_ "embed" // the templates
	"strings"
)

//go:embed poller.json
var poller string

//go:embed cleanup.json
var cleanup string

//go:embed partition.json
var partition string

//go:embed status.json
var status []byte

//go:embed statusactions.json
var statusActions []byte

//go:embed host.json
var host []byte

//go:embed host-queues.json
var hostQueues []byte

// placeholder is where the template names the app setting of the schedule.
const placeholder = "<POLLER>_SCHEDULE"

// Poller returns the function.json of a timer function whose schedule is the app setting of the
// given name, such as ORDERS_SCHEDULE. The name must be made of letters, digits and single
// underscores: the host resolves %NAME% in function.json only for plain names, without "__".
func Poller(scheduleSetting string) []byte {
	return []byte(strings.Replace(poller, placeholder, scheduleSetting, 1))
}

// Cleanup returns the function.json of an outbox's clean-up, a timer function with an NCRONTAB schedule. It
// stands there as it is, not as an app setting: clean-ups want no tuning, and a setting that is missing
// would keep the function from running.
func Cleanup(schedule string) []byte {
	return []byte(strings.Replace(cleanup, "<SCHEDULE>", schedule, 1))
}

// Partition returns the function.json of the function that runs a partition of an outbox for each message on
// a queue of Azure Storage. connection is the name of the setting that holds the storage connection.
func Partition(queue, connection string) []byte {
	return []byte(strings.NewReplacer("<QUEUE>", queue, "<CONNECTION>", connection).Replace(partition))
}

// Status returns the function.json of the status page.
func Status() []byte { return bytes.Clone(status) }

// StatusActions returns the function.json of what the status page's buttons ask.
func StatusActions() []byte { return bytes.Clone(statusActions) }

// Host returns a host.json that starts rowrelay, which lies beside it. queues is for an app with queue triggers.
func Host(queues bool) []byte {
	if queues {
		return bytes.Clone(hostQueues)
	}
	return bytes.Clone(host)
}
