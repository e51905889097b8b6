package main

import (
	"strings"
)

const noOutbox = "no outbox"

func judgeStrategy(_ *facts, p *pollerFacts) answer {
	switch {
	case !isOutbox(p.w.cfg):
		return none(noOutbox)
	case p.about == nil:
		return unknown("mend the settings first", "%s", p.because())
	}
	if warnings := strategyWarnings(p.about, p.w); len(warnings) > 0 {
		return bad("", "%s", strings.Join(warnings, " | "))
	}
	return good("%s on %s columns", p.about.Strategy, p.about.Layout)
}

func judgeSnapshot(_ *facts, p *pollerFacts) answer {
	switch {
	case !isOutbox(p.w.cfg):
		return none(noOutbox)
	case p.w.conn.Engine != "sqlserver":
		return none("%s reads row versions anyway", p.w.conn.Engine)
	case !p.rights.Told:
		return unknown("mend the settings first", "%s", p.because())
	case !p.rights.RowVersions:
		return bad("", "READ_COMMITTED_SNAPSHOT is OFF")
	}
	return good("READ_COMMITTED_SNAPSHOT is ON")
}

func judgeCleanup(f *facts, p *pollerFacts) answer {
	cfg := &p.w.cfg.Source
	switch {
	case !isOutbox(p.w.cfg):
		return none(noOutbox)
	case cfg.CleanupSchedule == "":
		return bad("", "source__cleanup_schedule=none")
	case f.hosted && p.cleanupErr != nil:
		return bad("write it with rowrelay functions", "%s_cleanup/function.json: %v", p.w.cfg.Name, p.cleanupErr)
	}
	return good("at %s, what was published more than %s ago", cfg.CleanupSchedule, plain(cfg.Retention))
}

// Autovacuum comes too late above these: the part of the table, and the rows beside it, that may be dead.
const (
	largestFactor    = 0.05
	largestThreshold = 1_000_000
)

func judgeVacuum(_ *facts, p *pollerFacts) answer {
	switch {
	case !isOutbox(p.w.cfg):
		return none(noOutbox)
	case p.w.conn.Engine != "postgres":
		return none("%s has no autovacuum", p.w.conn.Engine)
	case !p.rights.Told:
		return unknown("mend the settings first", "%s", p.because())
	case !p.rights.Autovacuum:
		return bad("turn autovacuum on, for the server and the table", "autovacuum is off for the table")
	}
	switch factor, ok := p.rights.VacuumNumber("scale_factor"); {
	case !ok:
		return bad("", "the table has autovacuum's default scale factor")
	case factor > largestFactor:
		return bad("", "autovacuum waits for %g of the table to be dead (%s)", factor, p.rights.Vacuums)
	}
	if threshold, ok := p.rights.VacuumNumber("threshold"); ok && threshold > largestThreshold {
		return bad("", "autovacuum waits for %.0f dead rows (%s)", threshold, p.rights.Vacuums)
	}
	return good("%s", p.rights.Vacuums)
}
