package production

import (
	"strings"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
)

func outboxItems() []item {
	return []item{
		{
			id: "outbox-strategy", group: groupOutbox, asks: "the strategy suits the table, the engine and the instances",
			each:  judgeStrategy,
			needs: mode.Claims, without: noOutbox,
			why:  "Instances beyond the number of partitions are idle, and some strategies gain nothing on some engines.",
			mend: "see docs/outbox.md, Strategies",
		},
		{
			id: "outbox-snapshot", group: groupOutbox, asks: "SQL Server reads row versions (READ_COMMITTED_SNAPSHOT)",
			each:  judgeSnapshot,
			needs: mode.Marks, without: noOutbox,
			why:  "Without it the publisher waits for the writers of the outbox, and they for it.",
			mend: "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE, when the application is at rest",
		},
		{
			id: "outbox-cleanup", group: groupOutbox, asks: "published events are deleted", each: judgeCleanup,
			needs: mode.Marks, without: noOutbox,
			why:  "The table grows without end.",
			mend: "set source__cleanup_schedule, and write the function with rowrelay functions",
		},
		{
			id: "outbox-vacuum", group: groupOutbox, asks: "PostgreSQL's autovacuum follows the outbox", each: judgeVacuum,
			needs: mode.Marks, without: noOutbox,
			why: "Each event leaves two dead row versions. By default autovacuum waits for a fifth of the table to be dead, which with a week of published events is " +
				"too late.",
			mend: "ALTER TABLE … SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000), as rowrelay outbox init does",
		},
	}
}

const noOutbox = "no outbox"

func judgeStrategy(_ *inspect.App, p *inspect.Poller) Answer {
	if p.Outbox == nil {
		return notKnown(p.Because())
	}
	if len(p.Outbox.Unsuited) > 0 {
		return bad("", "%s", strings.Join(p.Outbox.Unsuited, " | "))
	}
	return good("%s on %s columns", p.Outbox.Strategy, p.Outbox.Layout)
}

func judgeSnapshot(_ *inspect.App, p *inspect.Poller) Answer {
	switch {
	case p.Engine != "sqlserver":
		return none("%s reads row versions anyway", p.Engine)
	case !p.Rights.Told:
		return notKnown(p.Because())
	case !p.Rights.RowVersions:
		return bad("", "READ_COMMITTED_SNAPSHOT is OFF")
	}
	return good("READ_COMMITTED_SNAPSHOT is ON")
}

func judgeCleanup(f *inspect.App, p *inspect.Poller) Answer {
	cfg := &p.Config.Source
	switch {
	case cfg.CleanupSchedule == "":
		return bad("", "source__cleanup_schedule=none")
	case f.Hosted() && p.CleanupErr != nil:
		return bad("write it with rowrelay functions", "%s_cleanup/function.json: %v", p.Config.Name, p.CleanupErr)
	}
	return good("at %s, what was published more than %s ago", cfg.CleanupSchedule, inspect.Plain(cfg.Retention))
}

// Autovacuum comes too late above these: the part of the table, and the rows beside it, that may be dead.
const (
	largestFactor    = 0.05
	largestThreshold = 1_000_000
)

func judgeVacuum(_ *inspect.App, p *inspect.Poller) Answer {
	switch {
	case p.Engine != "postgres":
		return none("%s has no autovacuum", p.Engine)
	case !p.Rights.Told:
		return notKnown(p.Because())
	case !p.Rights.Autovacuum:
		return bad("turn autovacuum on, for the server and the table", "autovacuum is off for the table")
	}
	switch factor, ok := p.Rights.VacuumNumber("scale_factor"); {
	case !ok:
		return bad("", "the table has autovacuum's default scale factor")
	case factor > largestFactor:
		return bad("", "autovacuum waits for %g of the table to be dead (%s)", factor, p.Rights.Vacuums)
	}
	if threshold, ok := p.Rights.VacuumNumber("threshold"); ok && threshold > largestThreshold {
		return bad("", "autovacuum waits for %.0f dead rows (%s)", threshold, p.Rights.Vacuums)
	}
	return good("%s", p.Rights.Vacuums)
}
