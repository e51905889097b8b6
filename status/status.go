// Package status says how every poller and output is doing: the one model behind `rowrelay status`, /status.json and
// the status page.
//
// Durable figures (position, lease, parked events, dead letters, pause, skips) are read from the state documents and
// from the outbox's own tables, so that every instance shows the same. What only a tick knows (lag, rate, what held
// rows back, the last error) is read from the note that the instance at work leaves beside the document: see Note. A
// note is for looking at: nothing depends on it, and a tick that cannot write it goes on.
package status

import (
	"encoding/json"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Health is how an output is doing, in one word; the worst comes first on the page.
type Health string

// The healths.
const (
	Failing Health = "failing" // its last tick failed, or its settings have faults
	Silent  Health = "silent"  // no tick has given a sign of life for longer than its schedule explains
	Blocked Health = "blocked" // rows are held back, or as many are parked as max_parked allows
	Lagging Health = "lagging" // it works, and rows have been waiting for 15 minutes or longer
	Paused  Health = "paused"  // by an operator
	Parked  Health = "parked"  // it works; some events wait for a repetition, or behind a dead letter
	Unknown Health = "unknown" // a part of its figures could not be read, or no tick has ever left a sign of life
	Healthy Health = "healthy" // ticks come, and no failure is known
	New     Health = "new"     // it has never run, or has delivered nothing yet

	DeadLettered Health = "dead-lettered" // it works, and nothing waits; some events were given up
)

// Healths are all of them, the worst first.
var Healths = []Health{Failing, Silent, Blocked, Lagging, Paused, Parked, DeadLettered, Unknown, Healthy, New}

// Report is everything at one moment. Times are UTC.
type Report struct {
	App      string    `json:"app"`
	Version  string    `json:"version"`
	Instance string    `json:"instance"` // who answers
	At       time.Time `json:"at"`
	Faults   []Problem `json:"faults"` // of settings that belong to no poller
	Outputs  []Output  `json:"outputs"`
}

// Output is one output of one poller; an outbox has one.
type Output struct {
	Poller string    `json:"poller"`
	Output string    `json:"output"` // "" for the only one
	Mode   mode.Mode `json:"mode"`
	Source string    `json:"source"`         // the table, or "query"
	Kind   string    `json:"kind"`           // of the output: http, queue …
	From   string    `json:"from,omitempty"` // the engine and its host
	To     string    `json:"to,omitempty"`   // the output's kind and its host
	Health Health    `json:"health"`
	Says   string    `json:"says"` // one sentence: why this health

	Position string `json:"position,omitempty"` // the checkpoint's cursor as JSON text; none of an outbox
	// the checkpoint was last written: also by a tick that failed later on, or by an operator
	CommittedAt *time.Time `json:"committed_at,omitempty"`
	Untouched   bool       `json:"untouched,omitempty"` // no batch was ever settled by its document
	Lease       *Lease     `json:"lease,omitempty"`     // of an outbox: one for each owner is in Owners
	Owners      []Lease    `json:"owners,omitempty"`
	Token       uint64     `json:"fencing_token,string"`

	// of the last tick, where its cursor is a time or nothing waits; of an outbox the age of the oldest pending event, now
	LagSeconds *float64 `json:"lag_seconds,omitempty"`
	// rows wait, and no tick has come to their end since; not of an outbox
	WaitingSince *time.Time `json:"waiting_since,omitempty"`
	// of the last minutes: 0 where nothing was delivered in them
	Rate *float64 `json:"events_per_second,omitempty"`
	// what ticks told is as of then: rate, held_back, last_error, and lag but for an outbox
	NotedAt *time.Time `json:"noted_at,omitempty"`
	// that a tick has noted: it may be a minute older than the last
	LastSuccess *time.Time `json:"last_success,omitempty"`
	// the last sign of life, where the next is overdue; also of one that is failing or paused
	SilentSince *time.Time `json:"silent_since,omitempty"`
	NextRun     *time.Time `json:"next_run,omitempty"` // when the schedule says
	// what ticks told of the last hour, in order: about, where several instances work at once
	History []Step `json:"history,omitempty"`

	HeldBack *HeldBack `json:"held_back,omitempty"`
	Pause    *Pause    `json:"paused,omitempty"`
	Pending  *int64    `json:"pending,omitempty"` // of an outbox
	Scale    *Scale    `json:"scale,omitempty"`   // of change tracking; nil: it could not be counted
	// of change tracking: how long it may stand still without losing a change; nil: it is not known
	Survives    *float64 `json:"survives_outage_seconds,omitempty"`
	Parked      int64    `json:"parked"`  // parked (cursor) or failed (outbox)
	Waiting     int64    `json:"waiting"` // behind them
	DeadLetters int64    `json:"dead_letters"`
	Skipped     int64    `json:"skipped_rows"`         // by operators, as far as the document remembers
	CountedTo   int64    `json:"counted_to,omitempty"` // a figure of an outbox that is this large is at least that
	Unread      bool     `json:"unread,omitempty"`     // the figures above are not known: their zeros mean nothing

	Late            *Late     `json:"late_commits,omitempty"`
	Apart           []Apart   `json:"apart,omitempty"`
	Backfill        string    `json:"backfill,omitempty"`          // one under way, in words
	Progress        *Progress `json:"progress,omitempty"`          // of it
	DeadLetterQueue string    `json:"dead_letter_queue,omitempty"` // where dead letters go, and are not counted
	MaxParked       int64     `json:"max_parked,omitempty"`

	LastError *Problem  `json:"last_error,omitempty"`
	Problems  []Problem `json:"problems"` // faults of its settings, and figures that could not be read
	// the newest dead letters, at most MaxLetters; where there are very many, the newest of some; of an outbox the oldest
	Letters []Letter `json:"letters"`
	Entries []Letter `json:"parked_entries"` // the parked events that have waited longest, at most MaxLetters
}

// Address is how commands name its state document.
func (o *Output) Address() string { return poller.Address(o.Poller, o.Output) }

// MaxLetters bounds Letters and Entries: the page is for seeing; `rowrelay deadletter list` shows all.
const MaxLetters = 50

// Lease is who has the right to work.
type Lease struct {
	Holder           string    `json:"holder"`
	Held             bool      `json:"held"`
	HeartbeatSeconds float64   `json:"heartbeat_age_seconds"` // by the store's clock; 0 of an owner of an outbox
	ExpiresAt        time.Time `json:"expires_at"`
	Units            int       `json:"units,omitempty"` // of an outbox
}

// Apart is an order key with a backlog: the position has passed its rows, which are delivered beside the others' up to
// At.
type Apart struct {
	OrderKey json.RawMessage `json:"order_key"`
	At       string          `json:"at"`
}

// HeldBack says that rows wait although they are there, and for whom.
type HeldBack struct {
	Seconds float64 `json:"seconds"`
	By      string  `json:"by"`
}

// Late says how late commits are found. With overlap, the position is the window's low edge, and Frontier how far rows
// were delivered.
type Late struct {
	Mode       string `json:"mode"`
	Frontier   string `json:"frontier,omitempty"`
	Remembered int    `json:"remembered"`
}

// Pause is an operator's, or a replay's.
type Pause struct {
	At    *time.Time `json:"at,omitempty"`
	Until *time.Time `json:"until,omitempty"` // when it ends by itself: a replay's, at the latest
	By    string     `json:"by"`
}

// Progress is how far a backfill is, or the read of the whole table.
type Progress struct {
	Whole bool  `json:"whole_table"`
	Read  int64 `json:"rows_read"` // and delivered
	// Estimated is about how many rows there were when it began, Share how much of that was read, from 0 to 1. Both are 0
	// where that is not known.
	Estimated int64   `json:"rows_estimated"`
	Share     float64 `json:"share"`
}

// progressOf is that of a backfill that a document asks for.
func progressOf(b *state.Backfill) *Progress {
	p := &Progress{Whole: b.Whole, Read: b.Done, Estimated: b.Total}
	if b.Total > 0 {
		p.Share = min(1, float64(b.Done)/float64(b.Total))
	}
	return p
}

// Scale is what an autoscaler reads.
type Scale struct {
	// Unprocessed counts what is still to be delivered: changes after the position, parked events, the rest of the table
	// where that is being read. Counting stops beyond a hundred workers.
	Unprocessed int64 `json:"unprocessed"`
	// TargetWorkers is one for each Sql_Trigger_MaxChangesPerWorker of them, or a part of so many.
	TargetWorkers int64 `json:"target_workers"`
}

// Problem is something wrong, with its mend. Neither holds secrets, rows, or what a destination answered, which may
// echo them; a database's own error is shown, and may quote a value.
type Problem struct {
	At    *time.Time `json:"at,omitempty"`
	Event string     `json:"event,omitempty"` // of the log line: fetch_failed …
	// Reason is that of the log line, where it has one: unavailable, not_found …
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text"`
	Mend   string `json:"mend,omitempty"`
}

// Kind is the event, and the reason where there is one.
func (p *Problem) Kind() string {
	if p.Reason == "" {
		return p.Event
	}
	return p.Event + ", " + p.Reason
}

// Letter is a dead letter, or a parked event. Its payload is not shown: it may hold what the page's readers must not
// see.
type Letter struct {
	ID       string     `json:"id"` // as the commands take it
	Key      string     `json:"key"`
	At       *time.Time `json:"at,omitempty"`
	Attempts int        `json:"attempts"`
	Reason   string     `json:"reason"`            // without what the destination answered
	Answered string     `json:"-"`                 // with it: it may echo a row, and is only for who is logged in
	Next     *time.Time `json:"next,omitempty"`    // of a parked one
	Blocked  bool       `json:"blocked,omitempty"` // it is parked, and waits for an operator
	Waiting  int        `json:"waiting,omitempty"` // rows behind a parked one
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// atWork reports whether somebody holds the right to work.
func (o *Output) atWork() bool { return o.Lease != nil && o.Lease.Held || anyHeld(o.Owners) }

func anyHeld(owners []Lease) bool {
	for i := range owners {
		if owners[i].Held {
			return true
		}
	}
	return false
}

// Step is what the ticks of a stretch of time told. Stretches in which nothing was delivered, failed or waited have
// none.
type Step struct {
	At time.Time `json:"at"` // when it began: a whole number of HistoryStep
	// Rows are events delivered; Failed counts ticks that failed, and attempts held against events.
	Rows   int `json:"rows,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Waiting is for how many seconds rows had been waiting at most; not of an outbox.
	Waiting float64 `json:"waiting_seconds,omitempty"`
}

// said is a text on one line, not longer than is fit for a page, without what a terminal would obey.
func said(text string) string { return plaintext.Cut(plaintext.Line(text), maxText) }

// maxText bounds the texts of a note, in bytes.
const maxText = 2000
