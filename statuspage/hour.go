package statuspage

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// hour is the last hour of an output as three strips of bars, the latest at the right: what was delivered, what failed,
// and for how long rows had been waiting. Each strip is as high as its largest figure.
type hour struct {
	Delivered, Failed, Waiting string // of an SVG path, in a box of hourWide by hourHigh
	// the same in words; Longest is "" where nothing waited
	Rows, Failures, Longest string
}

const (
	steps    = int(status.HistoryLong / status.HistoryStep)
	barWide  = 8
	hourWide = steps * barWide
	hourHigh = 24
)

// lastHour draws what is known of the hour before now; nil where nothing is.
func lastHour(o *status.Output, now time.Time) *hour {
	rows, failed, waiting := make([]float64, steps), make([]float64, steps), make([]float64, steps)
	first := now.Truncate(status.HistoryStep).Add(status.HistoryStep - status.HistoryLong)
	known, delivered, failures, longest := false, 0, 0, 0.0
	for _, s := range o.History {
		i := int(s.At.Sub(first) / status.HistoryStep)
		if i < 0 || i >= steps {
			continue
		}
		rows[i], failed[i], waiting[i] = float64(s.Rows), float64(s.Failed), s.Waiting //nolint:gosec // i is checked
		known, delivered, failures, longest = true, delivered+s.Rows, failures+s.Failed, max(longest, s.Waiting)
	}
	if !known {
		return nil
	}
	h := &hour{Delivered: bars(rows), Failed: bars(failed), Waiting: bars(waiting),
		Rows: count(int64(delivered)) + " delivered", Failures: count(int64(failures)) + " failed"}
	if longest > 0 {
		h.Longest = "waited up to " + span(longest)
	}
	return h
}

// bars is a path of one bar for each figure that is not 0: at least one unit high, so that one failure is seen beside
// a thousand.
func bars(figures []float64) string {
	highest := 0.0
	for _, f := range figures {
		highest = max(highest, f)
	}
	var b strings.Builder
	for i, f := range figures {
		if f > 0 {
			high := max(2, int(f/highest*hourHigh))
			fmt.Fprintf(&b, "M%d %dh%dv%dh-%dz", i*barWide, hourHigh-high, barWide-1, high, barWide-1)
		}
	}
	return b.String()
}
