package production

import (
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
)

func sourceItems() []item {
	return []item{
		{
			id: "late-commits", group: groupSource, asks: "rows that commit late are found", each: judgeLate,
			needs: mode.CursorColumns, without: "an outbox shows its rows by their state",
			why: "A transaction takes its cursor value when it writes, and shows it when it commits. The position may have passed it meanwhile: such a row is lost, unless " +
				"late rows are looked for (docs/late-commits.md).",
			mend: "make the cursor exact (rowrelay check --ddl), or let the login see open transactions",
		},
		{
			id: "index", group: groupSource, asks: "an index serves the order of the cursor", each: judgeIndex,
			needs: mode.CursorColumns, without: "an outbox has the indexes of its layout",
			why: "Otherwise every fetch reads and sorts the table.", mend: "create the index that rowrelay check shows",
		},
		{
			id: "key", group: groupSource, asks: "the key is proved unique and never NULL", each: judgeKey,
			needs: mode.CursorColumns, without: "an outbox has its layout's key",
			why:  "Rows with one cursor are told apart by the key.",
			mend: "watch the table with source__table, or be sure that the query's key is unique",
		},
		{
			id: "cursor", group: groupSource, asks: "the cursor's type is fine enough, and every row has one", each: judgeCursor,
			needs: mode.CursorColumns, without: "an outbox has its own position",
			why: "Two writes within the resolution of the type look like one, and the earlier state is not delivered (docs/duplicates.md, W7); a row whose cursor is NULL is " +
				"never delivered.",
			mend: "use rowversion, xid8, an integer that grows, or a timestamp of microseconds; make the column NOT NULL with a default",
		},
		{
			id: "cursor-moves", group: groupSource, asks: "updates move the cursor", each: judgeMoves,
			needs: mode.CursorColumns, without: "events of an outbox are not updated",
			why:  "An update that leaves the cursor as it was is not seen.",
			mend: "watch a column that every write sets; for a table of new rows only this is as it should be",
		},
		{
			id: "gaps", group: groupSource, asks: "a restored or failed-over database is noticed", each: judgeGaps,
			needs: mode.Document, without: "an outbox that is restored publishes its restored rows",
			why: "After a restore the stored position may be ahead of the data: rows that are written below it are not seen. With " +
				"source__on_failover=continue the same holds for an asynchronous replica.",
			mend: "let the login read the database's incarnation, and use source__on_failover=stop unless replicas are synchronous",
		},
		{
			id: "retention", group: groupSource, asks: "changes are kept for longer than the longest outage",
			each: judgeRetention, needs: mode.Triggers, without: "only change tracking has changes that are removed",
			why: "A poller that stands still for longer, with its process, its destination or a fault, stops at a gap: what " +
				"was removed cannot be delivered (docs/change-tracking.md).",
			mend: "raise source__track_retention, or on SQL Server CHANGE_RETENTION",
		},
		{
			id: "connections", group: groupSource, asks: "there is a connection for each output", each: judgeConnections,
			why:  "Outputs of a poller share its pool: with fewer connections they wait for each other.",
			mend: "raise source__connections; all instances together must stay below the database's own limit",
		},
	}
}

func judgeLate(_ *inspect.App, p *inspect.Poller) Answer {
	found, window := p.Table.Late, p.Config.Source.LateWindow
	switch {
	case found == nil:
		return notKnown(p.Because())
	case found.Mode == late.Exact:
		return good("exact: %s", found.Why)
	case found.Mode == late.None:
		return bad("set source__late_commits=auto", "none: %s", found.Missed)
	case !found.Shown && p.Engine == "sqlite":
		return good("%s within %s; SQLite has one writer at a time", found.Mode, inspect.Plain(window))
	case !found.Shown:
		return bad(found.Mend, "%s: open transactions are not shown, so that late_window (%s) cannot be held against them",
			found.Mode, inspect.Plain(window))
	case found.Age > window:
		return bad("end that transaction, or raise source__late_window above the longest that there is",
			"%s: %s, and late_window is %s", found.Mode, found.Held, inspect.Plain(window))
	}
	return good("%s within %s; open transactions are shown, the oldest is %s old", found.Mode, inspect.Plain(window),
		found.Age.Round(time.Second))
}

func judgeIndex(_ *inspect.App, p *inspect.Poller) Answer {
	switch {
	case p.Table.Late == nil:
		return notKnown(p.Because())
	case p.Table.Index != "":
		return good("%s", p.Table.Index)
	case p.Table.CreateIndex != "":
		return bad(p.Table.CreateIndex, "none")
	}
	return unknown("read the plan that rowrelay check shows: it should have no sort and no full scan",
		"a query or a view: the catalog does not tell")
}

func judgeKey(_ *inspect.App, p *inspect.Poller) Answer {
	switch key := p.Table.KeyProof; {
	case key == "":
		return notKnown(p.Because())
	case strings.HasPrefix(key, "not provable"):
		return unknown("", "%s", key)
	case slices.ContainsFunc(p.Warnings, func(w string) bool {
		return strings.Contains(w, "may hold NULL, although it is in the primary key")
	}):
		return bad("declare the key NOT NULL", "%s, which may hold NULL", key)
	default:
		return good("%s", key)
	}
}

// coarse is a resolution in which two writes of one row are likely.
const coarse = time.Millisecond

func judgeCursor(_ *inspect.App, p *inspect.Poller) Answer {
	if len(p.Cursor) == 0 {
		return notKnown(p.Because())
	}
	if n := p.Table.NullCursors; n > 0 {
		return bad("give them a cursor, and make the column NOT NULL with a default",
			"%d row(s) have a NULL cursor and are not delivered", n)
	}
	var seen []string
	for _, col := range p.Cursor {
		switch {
		case col.Float:
			return bad("", "%s %s: binary fractions, which come back rounded", col.Name, col.Type)
		case col.Step > coarse && len(p.Cursor) == 1:
			return bad("", "%s %s tells writes apart by %s only", col.Name, col.Type, col.Step)
		case col.Nullable && !col.Query:
			return bad("make the column NOT NULL, with a default", "%s %s may be NULL", col.Name, col.Type)
		}
		seen = append(seen, col.Name+" "+col.Type)
	}
	return good("%s, and no row without", list(seen))
}

func judgeMoves(_ *inspect.App, p *inspect.Poller) Answer {
	if len(p.Cursor) == 0 {
		return notKnown(p.Because())
	}
	for _, w := range p.Warnings {
		if strings.Contains(w, "updates will not be seen") {
			return bad("", "%s", w)
		}
	}
	for _, col := range p.Cursor {
		if col.Moved != "" {
			how, _, _ := strings.Cut(col.Moved, " (")
			return good("%s %s", col.Name, how)
		}
	}
	return unknown("", "nothing about %s says that updates move it", p.Cursor[0].Name)
}

func judgeGaps(_ *inspect.App, p *inspect.Poller) Answer {
	cfg := &p.Config.Source
	switch {
	case p.Table.Late == nil:
		return notKnown(p.Because())
	case p.Table.Incarnation == "" && p.Engine == "sqlite":
		return unknown("after the file was restored, run rowrelay check before the next start",
			"a SQLite file does not show that it was restored; a counter that went back is noticed")
	case p.Table.Incarnation == "":
		return bad("PostgreSQL: GRANT EXECUTE ON FUNCTION pg_control_system(), pg_walfile_name(pg_lsn), pg_current_wal_lsn() TO the role", "the database does not show its incarnation to this login")
	case cfg.OnFailover != "continue":
		return good("the incarnation is known; source__on_failover=stop")
	case p.Engine == "postgres" && p.Rights.Told && p.Rights.Standbys == "":
		return bad("set source__on_failover=stop, or synchronous_standby_names on the server",
			"source__on_failover=continue, and synchronous_standby_names is empty: replicas are asynchronous")
	// any session may set synchronous_commit, and another standby may be promoted
	case p.Engine == "postgres" && p.Rights.Told:
		return unknown("use source__on_failover=stop, unless every writer waits (synchronous_commit), and only a standby that was waited for is ever promoted",
			"source__on_failover=continue, synchronous_standby_names is %s, and synchronous_commit is %s here",
			p.Rights.Standbys, p.Rights.Commits)
	}
	return unknown("use source__on_failover=stop unless every replica is synchronous",
		"source__on_failover=continue: whether replicas are synchronous is not seen here")
}

// longOutage is an outage that nobody looks at: from Friday evening to Monday.
const longOutage = 72 * time.Hour

func judgeRetention(_ *inspect.App, p *inspect.Poller) Answer {
	switch r := p.RetentionOf(p.Table.Retained); {
	case r.How == "":
		return notKnown(p.Because())
	case r.For == 0:
		return unknown("see to who removes changes, and when", "%s", r.How)
	case r.For < longOutage:
		return bad("", "an outage of up to %s loses no change, and a weekend has more (%s)", inspect.Plain(r.For), r.How)
	default:
		return good("an outage of up to %s loses no change (%s)", inspect.Plain(r.For), r.How)
	}
}

func judgeConnections(_ *inspect.App, p *inspect.Poller) Answer {
	n, outputs := p.Config.Source.Connections, len(p.Config.Outputs)
	if n < outputs {
		return bad("", "source__connections=%d for %d outputs", n, outputs)
	}
	return good("source__connections=%d for %d output(s)", n, outputs)
}
