package config

import "slices"

// checkTracking judges a source that reads what triggers, or the engine itself, recorded.
func (l *loader) checkTracking(p *pollerScopes) {
	s, src := p.own, &p.poller.Source
	if s.ok("source__connection") {
		src.Connection = l.env.database(s, "source__connection", src.ConnectionSetting)
	}
	engine := engineOf(src.Connection)
	if engine == "sqlserver" && s.has("source__track_table") {
		s.fault("source__track_table", "is the table that triggers keep, and SQL Server needs none", "Remove it")
	}
	if engine == "sqlserver" && s.has("source__track_retention") {
		s.fault("source__track_retention", "is for the table that triggers keep, and SQL Server's own is kept as the "+
			"database says", "Remove it, and run ALTER DATABASE CURRENT SET CHANGE_TRACKING (CHANGE_RETENTION = 7 DAYS)")
	}
	if engine == "sqlite" && s.has("source__ignore_context") {
		s.fault("source__ignore_context", "needs a way for a writer to tell a trigger who it is, and SQLite has none",
			"Remove it, and let the receiver know its own writes by a column of the row")
	}
	if !s.has("source__table") && s.ok("source__table") {
		s.fault("source__table", "is required", "Set it to the table, such as "+s.prefix+"source__table=orders")
	}
	l.checkSnapshot(s, src, "source__start", src.Start == "snapshot")
	l.checkSnapshot(s, src, "source__on_gap", src.OnGap == "resync")
	checkText(s, "source__where", src.Where, engine, conditionFlaw)
	src.LateCommits = "auto" // the engine decides
	l.checkLate(p)
}

// checkSnapshot judges a setting that reads the whole table.
func (l *loader) checkSnapshot(s *scope, src *Source, key string, reads bool) {
	if !reads || !s.ok(key, "source__operations") || len(src.Operations) == 0 ||
		slices.Contains(src.Operations, "insert") {
		return
	}
	s.fault(key, "reads every row of the table, each as an insert, and source__operations leaves inserts out",
		"Add insert to "+s.named("source__operations")+", or remove "+s.named(key))
}
