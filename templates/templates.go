// Package templates holds the function.json that makes a poller a timer function of the Azure
// Functions host. `rowrelay functions` writes one for each poller; copying poller.json to
// <poller>/function.json and replacing <POLLER> does the same.
//
// The template has no "retry": a failed tick is retried by the next one, which reads the checkpoint
// again, while the host's retry policy would hold up the timer and repeat in memory only. It has
// "useMonitor", by which the host remembers the last run of schedules of a minute and more, and
// catches up after a restart.
package templates

import (
	_ "embed" // poller.json
	"strings"
)

//go:embed poller.json
var poller string

// placeholder is where the template names the app setting of the schedule.
const placeholder = "<POLLER>_SCHEDULE"

// Poller returns the function.json of a timer function whose schedule is the app setting of the
// given name, such as ORDERS_SCHEDULE. The name must be made of letters, digits and single
// underscores: the host resolves %NAME% in function.json only for plain names, without "__".
func Poller(scheduleSetting string) []byte {
	return []byte(strings.Replace(poller, placeholder, scheduleSetting, 1))
}
