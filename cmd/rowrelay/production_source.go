package main

import (
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

func judgeLate(_ *facts, p *pollerFacts) answer {
	late, window := p.view.Late, p.w.cfg.Source.LateWindow
	switch {
	case isOutbox(p.w.cfg):
		return none("an outbox shows its rows by their state")
	case late == nil:
		return unknown("mend the settings first", "%s", p.because())
	case late.Mode == poller.LateExact:
		return good("exact: %s", late.Why)
	case late.Mode == poller.LateNone:
		return bad("set source__late_commits=auto", "none: %s", late.Missed)
	case !late.shown && p.w.conn.Engine == "sqlite":
		return good("%s within %s; SQLite has one writer at a time", late.Mode, plain(window))
	case !late.shown:
		return bad(late.Mend, "%s: open transactions are not shown, so that late_window (%s) cannot be held against them", late.Mode, plain(window))
	case late.age > window:
		return bad("end that transaction, or raise source__late_window above the longest that there is", "%s: %s, and late_window is %s", late.Mode, late.Held, plain(window))
	}
	return good("%s within %s; open transactions are shown, the oldest is %s old", late.Mode, plain(window), late.age.Round(time.Second))
}

// because says why something is not known of a poller. The fault itself stands at the item settings.
func (p *pollerFacts) because() string {
	switch {
	case p.broken != "":
		return p.broken
	case p.rightsErr != nil && len(p.view.Faults) == 0:
		return p.rightsErr.Error()
	}
	return "the source has a fault: see settings"
}

func judgeIndex(_ *facts, p *pollerFacts) answer {
	switch {
	case isOutbox(p.w.cfg):
		return none("an outbox has the indexes of its layout")
	case p.view.Late == nil:
		return unknown("mend the settings first", "%s", p.because())
	case p.view.Index != "":
		return good("%s", p.view.Index)
	case p.view.CreateIndex != "":
		return bad(p.view.CreateIndex, "none")
	}
	return unknown("read the plan that rowrelay check shows: it should have no sort and no full scan", "a query or a view: the catalog does not tell")
}

func judgeKey(_ *facts, p *pollerFacts) answer {
	switch key := p.view.Key; {
	case isOutbox(p.w.cfg):
		return none("an outbox has its layout's key")
	case key == "":
		return unknown("mend the settings first", "%s", p.because())
	case strings.HasPrefix(key, "not provable"):
		return unknown("", "%s", key)
	case slices.ContainsFunc(p.view.Warnings, func(w string) bool { return strings.Contains(w, "may hold NULL, although it is in the primary key") }):
		return bad("declare the key NOT NULL", "%s, which may hold NULL", key)
	default:
		return good("%s", key)
	}
}

// coarse is a resolution in which two writes of one row are likely.
const coarse = time.Millisecond

func judgeCursor(_ *facts, p *pollerFacts) answer {
	if isOutbox(p.w.cfg) {
		return none("an outbox has its own position")
	}
	if len(p.cursor) == 0 {
		return unknown("mend the settings first", "%s", p.because())
	}
	if n := p.view.NullCursors; n > 0 {
		return bad("give them a cursor, and make the column NOT NULL with a default", "%d row(s) have a NULL cursor and are not delivered", n)
	}
	var seen []string
	for _, col := range p.cursor {
		switch {
		case col.Float:
			return bad("", "%s %s: binary fractions, which come back rounded", col.Name, col.Type)
		case col.Step > coarse && len(p.cursor) == 1:
			return bad("", "%s %s tells writes apart by %s only", col.Name, col.Type, col.Step)
		case col.Nullable && !col.Query:
			return bad("make the column NOT NULL, with a default", "%s %s may be NULL", col.Name, col.Type)
		}
		seen = append(seen, col.Name+" "+col.Type)
	}
	return good("%s, and no row without", list(seen))
}

func judgeMoves(_ *facts, p *pollerFacts) answer {
	if isOutbox(p.w.cfg) {
		return none("events of an outbox are not updated")
	}
	if len(p.cursor) == 0 {
		return unknown("mend the settings first", "%s", p.because())
	}
	for _, w := range p.view.Warnings {
		if strings.Contains(w, "updates will not be seen") {
			return bad("", "%s", w)
		}
	}
	for _, col := range p.cursor {
		if col.Moved != "" {
			how, _, _ := strings.Cut(col.Moved, " (")
			return good("%s %s", col.Name, how)
		}
	}
	return unknown("", "nothing about %s says that updates move it", p.cursor[0].Name)
}

func judgeGaps(_ *facts, p *pollerFacts) answer {
	cfg := &p.w.cfg.Source
	switch {
	case isOutbox(p.w.cfg):
		return none("an outbox that is restored publishes its restored rows")
	case p.view.Late == nil:
		return unknown("mend the settings first", "%s", p.because())
	case p.view.Incarnation == "" && p.w.conn.Engine == "sqlite":
		return unknown("after the file was restored, run rowrelay check before the next start", "a file of SQLite does not tell one life from the next; a counter that went back is noticed")
	case p.view.Incarnation == "":
		return bad("PostgreSQL: GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() TO the role", "the database does not show its incarnation to this login")
	case cfg.OnFailover != "continue":
		return good("the incarnation is known; source__on_failover=stop")
	case p.w.conn.Engine == "postgres" && p.rights.Told && p.rights.Standbys == "":
		return bad("set source__on_failover=stop, or synchronous_standby_names on the server", "source__on_failover=continue, and synchronous_standby_names is empty: replicas are asynchronous")
	case p.w.conn.Engine == "postgres" && p.rights.Told:
		return good("source__on_failover=continue, and synchronous_standby_names is %s", p.rights.Standbys)
	}
	return unknown("use source__on_failover=stop unless every replica is synchronous", "source__on_failover=continue: whether replicas are synchronous is not seen here")
}

func judgeConnections(_ *facts, p *pollerFacts) answer {
	n, outputs := p.w.cfg.Source.Connections, len(p.w.cfg.Outputs)
	if n < outputs {
		return bad("", "source__connections=%d for %d outputs", n, outputs)
	}
	return good("source__connections=%d for %d output(s)", n, outputs)
}
