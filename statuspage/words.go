package statuspage

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/mode"
)

// machine is an instant for machines, stamp for people.
func machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// ago says how long before now t was; of a clock that is a little ahead it says now.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	if d < time.Second {
		return "just now"
	}
	return about(d) + " ago"
}

// until says how long after now t is.
func until(t, now time.Time) string {
	d := t.Sub(now)
	if d < time.Second {
		return "due now"
	}
	return "in " + about(d)
}

// about says a duration in one unit, rounded down, as people do.
func about(d time.Duration) string {
	day := 24 * time.Hour
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"d", day}, {"h", time.Hour}, {"min", time.Minute}} {
		if d >= u.size && (u.size != time.Hour || d >= 2*time.Hour) && (u.size != day || d >= 2*day) {
			return fmt.Sprintf("%d %s", d/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// some says how many of how many are listed, where they are not all. Of an outbox they are the oldest; of the others as
// many are read as a page has time for, of which the newest are shown, so that they are the newest of all only where
// there are few.
func some(listed int, all int64, m mode.Mode) string {
	switch {
	case int64(listed) >= all:
		return strconv.Itoa(listed)
	case m.Can(mode.Marks):
		return fmt.Sprintf("oldest %d of %s", listed, count(all))
	}
	return fmt.Sprintf("%d of %s", listed, count(all))
}

// span says seconds in one or two units.
func span(s float64) string {
	if s <= 0 {
		return "0 s"
	}
	if s < 1 {
		return fmt.Sprintf("%.0f ms", s*1000)
	}
	if s < 10 && s != math.Trunc(s) {
		return fmt.Sprintf("%.1f s", s)
	}
	n := int64(math.Round(math.Min(s, 1e12)))
	units := []struct {
		name string
		size int64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}
	for i, u := range units {
		if n < u.size {
			continue
		}
		text := fmt.Sprintf("%d %s", n/u.size, u.name)
		if rest := n % u.size; i+1 < len(units) && rest >= units[i+1].size {
			text += fmt.Sprintf(" %d %s", rest/units[i+1].size, units[i+1].name)
		}
		return text
	}
	return "0 s"
}

func rate(perSecond float64) string {
	switch {
	case perSecond >= 100:
		return count(int64(math.Round(perSecond))) + " / s"
	case perSecond >= 1 || perSecond == 0:
		return strconv.FormatFloat(math.Round(perSecond*10)/10, 'f', -1, 64) + " / s"
	default:
		return fmt.Sprintf("%.2g / s", perSecond)
	}
}

// count groups the digits of a number by threes.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "−", text[1:]
	}
	var parts []string
	for len(text) > 3 {
		parts = append([]string{text[len(text)-3:]}, parts...)
		text = text[:len(text)-3]
	}
	return sign + strings.Join(append([]string{text}, parts...), "\u202f")
}
