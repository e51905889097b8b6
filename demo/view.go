package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// View is the demo at one moment.
type View struct {
	// Written, Received, Duplicates and Inverted count since the beginning of the shop, restarts included.
	Written    int64 `json:"written"`
	Received   int64 `json:"received"`
	Duplicates int64 `json:"duplicates"`
	Inverted   int64 `json:"out_of_order"`
	// Waiting is the number of orders after the checkpoint.
	Waiting int64 `json:"waiting"`
	// WriteRate and ReceiveRate are in events per second, over the last seconds.
	WriteRate   float64 `json:"write_rate"`
	ReceiveRate float64 `json:"receive_rate"`
	// Lag is how old the last event was when it arrived, or how old the first that waits is, if that is longer.
	Lag time.Duration `json:"-"`
	// Position is the checkpoint, Token its fencing token.
	Position string `json:"position"`
	Token    uint64 `json:"fencing_token"`
	// Trouble is the last failure or wait, "" when all is well.
	Trouble string `json:"trouble,omitempty"`
	// Sent and Arrived are the last orders on either side, oldest first.
	Sent    []Order `json:"-"`
	Arrived []Order `json:"-"`
}

// Line is the view as one line.
func (v *View) Line() string {
	line := fmt.Sprintf("written %d (%.0f/s)  received %d (%.0f/s)  duplicates %d  lag %s  waiting %d  at %s",
		v.Written, v.WriteRate, v.Received, v.ReceiveRate, v.Duplicates, lag(v.Lag), v.Waiting, v.Position)
	if v.Inverted > 0 {
		line += fmt.Sprintf("  OUT OF ORDER %d", v.Inverted)
	}
	if v.Trouble != "" {
		line += "  [" + v.Trouble + "]"
	}
	return line
}

// JSON is the view as one line of JSON.
func (v *View) JSON() string {
	type members View // without its methods, or this would not end
	b, err := json.Marshal(struct {
		*members
		Lag float64 `json:"lag_seconds"`
	}{(*members)(v), v.Lag.Seconds()})
	if err != nil {
		return fmt.Sprintf(`{"error":%q}`, err) // no member of a View can fail
	}
	return string(b)
}

// Block is the view as lines for a terminal of width columns, with the last rows orders on either side. It has the same
// number of lines for the same number of rows, so that it can be drawn over itself.
func (v *View) Block(width, rows int) []string {
	half := min(max((width-3)/2, 24), 46)
	lines := []string{
		beside(half, "THE SHOP WRITES", "THE RECEIVER GETS"),
		beside(half, fmt.Sprintf("written   %d  (%.0f/s)", v.Written, v.WriteRate),
			fmt.Sprintf("received   %d  (%.0f/s)", v.Received, v.ReceiveRate)),
		beside(half, fmt.Sprintf("waiting   %d", v.Waiting),
			fmt.Sprintf("duplicates %d   out of order %d", v.Duplicates, v.Inverted)),
		beside(half, "position  "+v.Position, fmt.Sprintf("lag        %s", lag(v.Lag))),
		"",
	}
	for i := range rows {
		lines = append(lines, beside(half, at(v.Sent, i, rows), at(v.Arrived, i, rows)))
	}
	lines = append(lines, "", v.Trouble)
	for i := range lines {
		lines[i] = clip(lines[i], width-1)
	}
	return lines
}

// at is the i-th of the last n orders.
func at(orders []Order, i, n int) string {
	i += len(orders) - n
	if i < 0 {
		return ""
	}
	return orders[i].String()
}

func beside(half int, left, right string) string {
	left = clip(left, half)
	return left + strings.Repeat(" ", half-utf8.RuneCountInString(left)) + " │ " + right
}

func clip(s string, width int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > width {
		return string(runes[:max(width, 0)])
	}
	return s
}

func lag(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return d.Round(time.Second).String()
}

// Summary is the last word: what was written against what arrived.
func (c *Comparison) Summary(t Totals) string {
	text := fmt.Sprintf("written %d, received %d, missing %d, duplicates %d", c.Written, c.Received, c.Missing,
		t.Duplicates)
	if t.Inverted > 0 {
		text += fmt.Sprintf(", OUT OF ORDER %d", t.Inverted)
	}
	if c.Overtaken > 0 {
		text += fmt.Sprintf("\n%d writes were overtaken: the same order was written again before the relay read it, and a cursor shows a row's latest state only",
			c.Overtaken)
	}
	for _, o := range c.First {
		text += fmt.Sprintf("\nmissing: order %d in version %d", o.ID, o.Version)
	}
	return text
}

// Position reads a checkpoint of the demo's poller: its version, and how to show it.
func Position(cursor []byte) (version int64, text string) {
	var c struct {
		Value      int64
		Tiebreaker struct{ ID int64 }
	}
	if len(cursor) == 0 || json.Unmarshal(cursor, &c) != nil {
		return 0, "the beginning"
	}
	return c.Value, fmt.Sprintf("version %d (order %d)", c.Value, c.Tiebreaker.ID)
}

// JSON is the last word for machines.
func (c *Comparison) JSON(t Totals, position string) string {
	b, err := json.Marshal(struct {
		Summary    bool   `json:"summary"`
		Written    int64  `json:"written"`
		Received   int64  `json:"received"`
		Missing    int64  `json:"missing"`
		Duplicates int64  `json:"duplicates"`
		Inverted   int64  `json:"out_of_order"`
		Overtaken  int64  `json:"overtaken"`
		Position   string `json:"position"`
	}{true, c.Written, c.Received, c.Missing, t.Duplicates, t.Inverted, c.Overtaken, position})
	if err != nil {
		return fmt.Sprintf(`{"error":%q}`, err) // no member can fail
	}
	return string(b)
}
