package statuspage

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// Choice is what of a report a page shows, and in which order. It stands in the address, so that it can be kept, and
// works without scripts.
type Choice struct {
	Only   string // one poller alone
	Health string // outputs of one health
	Find   string // outputs whose name, source or kind has this in it
	Sort   string // by a column; "" the worst first
	Like   string // dead letters whose key, id or reason has this in it
}

func choiceOf(values url.Values) Choice {
	return Choice{Only: values.Get("poller"), Health: values.Get("health"), Find: strings.TrimSpace(values.Get("find")),
		Sort: values.Get("sort"), Like: strings.TrimSpace(values.Get("like"))}
}

// head is a column's heading, which orders the page by it.
type head struct{ Sort, Title, Class string }

var heads = []head{
	{"", "Worst first", ""}, {"name", "Poller", ""}, {"waiting", "Waiting", "cell"}, {"oldest", "Oldest", "cell"},
	{"dead", "Dead letters", "cell"}, {"rate", "Rate", "cell"}, {"last", "Success", "cell"},
}

// pairs are the choice as parts of an address.
func (c *Choice) pairs() []string {
	return []string{"poller", c.Only, "health", c.Health, "find", c.Find, "sort", c.Sort, "like", c.Like}
}

// Part reports whether less than all may be shown.
func (c *Choice) Part() bool { return c.Only+c.Health+c.Find != "" }

// of returns the outputs that were chosen, in their order: the worst first, and by the column where one is named. at is
// the report's moment.
func (c *Choice) of(outputs []status.Output, at time.Time) []status.Output {
	chosen := slices.DeleteFunc(slices.Clone(outputs), func(o status.Output) bool {
		return c.Only != "" && o.Poller != c.Only || c.Health != "" && string(o.Health) != c.Health || !c.finds(&o)
	})
	slices.SortStableFunc(chosen, func(a, b status.Output) int { return order(a.Health) - order(b.Health) })
	switch c.Sort {
	case "name":
		slices.SortStableFunc(chosen, func(a, b status.Output) int {
			return cmp.Or(strings.Compare(a.Poller, b.Poller), strings.Compare(a.Output, b.Output))
		})
	case "waiting":
		largest(chosen, func(o *status.Output) float64 { return float64(waiting(o)) })
	case "oldest":
		largest(chosen, func(o *status.Output) float64 { return oldest(o, at) })
	case "dead":
		largest(chosen, func(o *status.Output) float64 { return float64(o.DeadLetters) })
	case "rate":
		largest(chosen, func(o *status.Output) float64 {
			if o.Rate == nil {
				return -1
			}
			return *o.Rate
		})
	case "last":
		largest(chosen, func(o *status.Output) float64 { // the one that has been quiet for longest
			if o.LastSuccess == nil {
				return math.Inf(-1)
			}
			return -float64(o.LastSuccess.UnixMilli())
		})
	}
	return chosen
}

// keepLike leaves the dead letters that the filter lets through.
func (c *Choice) keepLike(outputs []status.Output) {
	for i := range outputs {
		outputs[i].Letters = like(outputs[i].Letters, c.Like)
	}
}

func largest(outputs []status.Output, by func(*status.Output) float64) {
	slices.SortStableFunc(outputs, func(a, b status.Output) int { return cmp.Compare(by(&b), by(&a)) })
}

func (c *Choice) finds(o *status.Output) bool {
	text := strings.ToLower(strings.Join([]string{o.Poller, o.Output, o.Source, o.Kind}, " "))
	return strings.Contains(text, strings.ToLower(c.Find))
}

// waiting is how many events wait: pending ones of an outbox, unprocessed changes where they are tracked; of the others
// those that are parked, and those after them.
func waiting(o *status.Output) int64 {
	if o.Pending != nil {
		return *o.Pending
	}
	if o.Scale != nil {
		return o.Scale.Unprocessed
	}
	return o.Parked + o.Waiting
}

// oldest is for how many seconds the oldest row has been waiting at a moment, as far as that is known; 0 where none is.
func oldest(o *status.Output, at time.Time) float64 {
	seconds := 0.0
	if o.LagSeconds != nil {
		seconds = *o.LagSeconds
	}
	if o.WaitingSince != nil {
		seconds = max(seconds, at.Sub(*o.WaitingSince).Seconds())
	}
	return seconds
}

// wrong is what is wrong with an output, for one line; "" where nothing is.
func wrong(o *status.Output) string {
	switch {
	case order(o.Health) >= order(status.Healthy):
		return ""
	case o.Health == status.Failing && o.LastError != nil:
		return o.LastError.Text
	case len(o.Problems) > 0:
		return o.Problems[0].Text
	}
	return o.Says
}

// order sorts a health that is not known between the bad and the good.
func order(h status.Health) int {
	if i := slices.Index(healths, h); i >= 0 {
		return 2 * i
	}
	return 2*slices.Index(healths, status.Healthy) - 1
}

// healths in the order of the page.
var healths = status.Healths

// like returns the letters that have a text in their key, id or reason.
func like(letters []status.Letter, text string) []status.Letter {
	if text == "" {
		return letters
	}
	var found []status.Letter
	for i := range letters {
		l := &letters[i]
		if strings.Contains(strings.ToLower(l.Key+" "+l.ID+" "+l.Reason), strings.ToLower(text)) {
			found = append(found, *l)
		}
	}
	return found
}
