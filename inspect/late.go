package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/source"
)

// Late is what is known of late commits: rows that become visible below the position.
type Late struct {
	Mode late.Mode `json:"mode"` // exact, overlap, settle or none
	Auto bool      `json:"auto"` // chosen by source__late_commits=auto
	Why  string    `json:"why"`
	Cost string    `json:"cost"`
	// Missed says what can still be missed; Mend what would show the transactions that cannot be seen, "" where nothing
	// would.
	Missed string `json:"missed"`
	Mend   string `json:"mend,omitempty"`
	// Order says where the order of an order key does not hold; "" where it does.
	Order string `json:"order,omitempty"`
	// Held is the oldest open write transaction, where the database shows one.
	Held string `json:"held,omitempty"`

	Shown bool          `json:"-"` // the server shows every open write transaction
	Age   time.Duration `json:"-"` // of the oldest that it shows
}

// lateOf asks the database what it shows of its transactions, and says what that means. Without an answer that is the
// worst case; the error is for the list of faults.
func lateOf(ctx context.Context, src *source.Cursor, found *source.Check, s *config.Source) (*Late, error) {
	v := &Late{Mode: found.Late, Auto: found.LateAuto, Why: found.LateWhy}
	h, err := src.Horizon(ctx)
	v.Shown = h.Shown
	if !h.Oldest.IsZero() {
		v.Age = max(h.Now.Sub(h.Oldest), 0)
		v.Held = fmt.Sprintf("a transaction that has written is open for %s", v.Age.Round(time.Second))
		if h.By != "" { // the server does not name every one
			v.Held += ": " + h.By
		}
	}
	v.explain(found.Engine, h.Shown && !h.Elsewhere, s)
	switch {
	case v.Mend == "":
	case h.Crowded:
		v.Mend = engine.AskLess
	case h.Elsewhere:
		v.Mend = engine.AskPrimary
	}
	switch {
	case found.Ordered && v.Shown:
		v.Cost += "; for the order of source__order_key each fetch also reads again what was delivered since the oldest " +
			"open write transaction began"
	case found.Ordered:
		v.Cost += fmt.Sprintf("; for the order of source__order_key each fetch also reads the last %s again, because open "+
			"transactions are not shown", s.LateWindow)
	case v.Mode == late.Overlap && found.Coarse:
		v.Order = late.Unordered
	}
	return v, err
}

// explain says what the mode costs, and what it cannot see.
func (v *Late) explain(engine string, shown bool, s *config.Source) {
	switch v.Mode {
	case late.Exact:
		v.Cost, v.Missed = v.exact(engine, s), "nothing, but for "+unseen[engine]+" (docs/late-commits.md)"
		if s.Mode.Can(mode.Triggers) {
			v.Missed = "nothing, but for writes that fire no trigger (docs/change-tracking.md)"
			if engine == "sqlserver" {
				v.Cost = "nothing: a change gets its version at the commit"
				v.Missed = "nothing: what is not retained any more is a gap"
			}
		}
	case late.Overlap:
		v.Cost = fmt.Sprintf("no delay; the rows of the last %s and more are read again every %s while there are new ones, and up to %d are remembered, "+
			"with 8 bytes each: about %d rows per second, beyond which new rows are held back (late_memory)",
			s.LateWindow, late.SweepEvery(s.LateWindow), s.LateMemory, int(float64(s.LateMemory)/(2*s.LateWindow.Seconds())))
		v.Missed = fmt.Sprintf("a row whose cursor value is more than late_window (%s) old when its transaction begins to write, as one that the "+
			"application made; open transactions are shown, and the window waits for them", s.LateWindow)
		if !shown {
			v.Missed = fmt.Sprintf("a row that commits more than late_window (%s) after it drew its cursor value: open transactions are not shown", s.LateWindow)
			v.Mend = sightOf[engine]
		}
	case late.Settle:
		v.Cost = fmt.Sprintf("every row is delivered %s late (late_window)", s.LateWindow)
		v.Missed = fmt.Sprintf("a row that commits more than late_window (%s) after it drew its cursor value", s.LateWindow)
	default:
		v.Cost = "nothing"
		v.Missed = "every row that commits after a row with a larger cursor was delivered: it is lost, and nothing says so"
	}
}

func (v *Late) exact(engine string, s *config.Source) string {
	if engine == "sqlite" {
		return "nothing: there is one writer at a time"
	}
	if engine == "postgres" {
		return "two snapshots for each batch; a row is delivered as soon as it is committed"
	}
	text := "rows wait for the write transactions of the database that are open when they are written; "
	if s.OnLongTransaction == "wait" {
		return text + "however long these stay open (on_long_transaction=wait)"
	}
	return text + fmt.Sprintf("one that waits for longer than late_limit (%s) is delivered and remembered", s.LateLimit)
}

// unseen are the writes that an exact cursor does not show, by engine.
var unseen = map[string]string{
	"sqlserver": "rows that ALTER TABLE … SWITCH brings in",
	"postgres": "what is written without the trigger (ATTACH PARTITION; where it is not ENABLE ALWAYS, session_replication_role=replica " +
		"and logical replication), " +
		"and what follows a crash that loses commits (synchronous_commit=off, failover to an asynchronous standby)",
	"sqlite": "updates, ids that are chosen below the highest, and what follows a power loss with synchronous=NORMAL",
}

// sightOf is what shows the transactions of others, by engine.
var sightOf = map[string]string{
	"sqlserver": "GRANT VIEW SERVER STATE TO the login; on Azure SQL Database: GRANT VIEW DATABASE STATE TO the user, on Basic, S0, S1 and in elastic pools: " +
		"ALTER SERVER ROLE ##MS_ServerStateReader## ADD MEMBER the login",
	"postgres": "GRANT pg_read_all_stats TO the role",
	"mysql":    "GRANT PROCESS ON *.* TO the user",
}
