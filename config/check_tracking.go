package config

import "github.com/rowrelay/rowrelay/mode"

// checkTracking judges a source that reads what triggers recorded.
func (l *loader) checkTracking(p *pollerScopes) {
	s, src := p.own, &p.poller.Source
	if s.ok("source__connection") {
		src.Connection = l.env.database(s, "source__connection", src.ConnectionSetting)
	}
	engine := engineOf(src.Connection)
	if engine == "sqlserver" {
		s.fault("source__mode", string(mode.ChangeTracking)+" is not there yet for SQL Server: no trigger is put on its tables, and its own change "+
			"tracking is not read", "Write cursor with a rowversion column, or outbox")
	}
	if !s.has("source__table") && s.ok("source__table") {
		s.fault("source__table", "is required", "Set it to the table, such as "+s.prefix+"source__table=orders")
	}
	if src.Start == "snapshot" && s.ok("source__start") {
		s.fault("source__start", "\"snapshot\" is not there yet: rows from before the triggers are not read",
			"Write earliest, and touch the rows that are to be delivered (UPDATE …)")
	}
	checkText(s, "source__where", src.Where, engine, conditionFlaw)
	src.LateCommits = "auto" // the engine decides
	l.checkLate(p)
}
