package config

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

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
	if engine == "sqlserver" && s.has("source__track_max_deletes") {
		s.fault("source__track_max_deletes", "is for the table that triggers keep, and SQL Server's own is kept as the "+
			"database says", "Remove it")
	}
	if engine == "sqlserver" && s.has("source__track_retention") {
		s.fault("source__track_retention", "is for the table that triggers keep, and SQL Server's own is kept as the "+
			"database says", "Remove it, and run ALTER DATABASE CURRENT SET CHANGE_TRACKING (CHANGE_RETENTION = 7 DAYS)")
	}
	if engine == "sqlite" && s.has("source__ignore_context") {
		s.fault("source__ignore_context", "needs a way for a writer to tell a trigger who it is, and SQLite has none",
			"Remove it, and let the receiver know its own writes by a column of the row")
	}
	if !s.has("source__table") && !s.has(tablesKey) && s.ok("source__table") {
		s.fault("source__table", "is required", "Set it to the table, such as "+s.prefix+"source__table=orders")
	}
	if engine != "" && engine != "sqlserver" && s.has("source__isolation") {
		s.fault("source__isolation", "is for SQL Server's own change tracking, and the connection is of "+engine+
			", where changes and their rows are always read in one snapshot", "Remove it")
	}
	l.checkEvery(s, src, engine)
	l.checkSnapshot(s, src, "source__start", src.Start == "snapshot")
	l.checkSnapshot(s, src, "source__on_gap", src.OnGap == "resync")
	checkText(s, "source__where", src.Where, engine, conditionFlaw)
	src.LateCommits = "auto" // the engine decides
	l.checkLate(p)
}

// checkEvery judges a source that reads every change.
func (l *loader) checkEvery(s *scope, src *Source, engine string) {
	const every, before = "source__every_change", "source__before_image"
	if src.BeforeImage && !src.EveryChange && s.ok(before) {
		s.fault(before, "goes with every change: the net change of a row has as many rows before it as there are positions",
			"Set "+s.named(every)+"=true, or remove it")
	}
	if !src.EveryChange || !s.ok(every) {
		return
	}
	if engine == "sqlserver" {
		s.fault(every, "needs triggers that keep the changes, and SQL Server's own change tracking knows the last one of "+
			"each row only", "Remove it; triggers that write an outbox tell every change there (docs/outbox-writing.md)")
	}
	if len(src.Changed) > 0 && !src.BeforeImage && s.ok("source__changed") {
		s.fault("source__changed", "is known of each change only with the row before it", "Set "+s.named(before)+
			"=true, or remove it")
	}
	if s.has("source__track_max_deletes") {
		s.fault("source__track_max_deletes", "is for deletes that are kept by their key, and here every change is kept",
			"Remove it: "+s.named("source__track_retention")+" bounds the history")
	}
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

// checkLeased judges a source whose changes instances share by leases on the rows.
func (l *loader) checkLeased(p *pollerScopes) {
	s, src := p.own, &p.poller.Source
	src.Location, src.LateCommits = time.UTC, "auto"
	if s.ok("source__connection") {
		src.Connection = l.env.database(s, "source__connection", src.ConnectionSetting)
	}
	if engine := engineOf(src.Connection); engine != "" && engine != "sqlserver" {
		s.fault("source__leases", "is azfunc, whose tables are the Azure SQL trigger's, on SQL Server, and the connection is "+
			"of "+engine,
			"Remove it: one instance at a time reads the changes then, and another takes over")
	}
	if !s.has("source__table") && s.ok("source__table") {
		s.fault("source__table", "is required", "Set it to the table, such as "+s.prefix+"source__table=dbo.Orders")
	}
	if src.Start != "earliest" && src.Start != "latest" && s.ok("source__start") {
		mend := "Write earliest or latest"
		if src.Start == "snapshot" {
			mend = "Write latest, and have another poller, without " + s.named("source__leases") + ", read the whole table " +
				"first (docs/azure-sql-trigger.md#the-whole-table-first)"
		}
		s.fault("source__start", fmt.Sprintf("%q is no start of a shared state", src.Start), mend)
	}
	if src.SiteName == "" {
		_, src.SiteName, _ = l.env.variable("WEBSITE_SITE_NAME")
	}
	if src.SiteName == "" && s.ok("source__site_name") {
		s.fault("source__site_name", "is required where there is no WEBSITE_SITE_NAME: the function's id is made of it",
			"Set it to the name of the function app")
	}
	if src.FunctionName == "" {
		src.FunctionName = p.poller.Name
	}
	if src.LegacyID = strings.ToLower(src.LegacyID); src.LegacyID != "" && s.ok("source__legacy_function_id") {
		if b, err := hex.DecodeString(src.LegacyID); err != nil || len(b) != 8 {
			s.fault("source__legacy_function_id", fmt.Sprintf("%q is no id of a function", src.LegacyID),
				"Write the 16 hexadecimal digits that az_func.GlobalState has in UserFunctionID")
		}
	}
	if p.poller.Ordering == "source" && s.ok("ordering") {
		s.fault("ordering", "source needs one instance that sends, and leases share the rows between all",
			"Write key, or remove "+s.named("source__leases"))
	}
	if p.poller.AfterDeadLetter == "block" && s.ok("after_dead_letter") {
		s.fault("after_dead_letter", "block keeps a key parked, and the leases know of none: what is given up is processed",
			"Write release")
	}
	l.checkCompat(p)
	l.checkFanout(p)
	if l.batchSize > 0 && !s.has("batch_size") {
		p.poller.BatchSize = l.batchSize
	}
	if l.polling > 0 && !s.has("poll_interval") {
		p.poller.PollInterval = l.polling
	}
	checkText(s, "source__where", src.Where, "sqlserver", conditionFlaw)
}

// checkCompat refuses what the binding does not have, where all is done as it does it.
func (l *loader) checkCompat(p *pollerScopes) {
	if p.poller.Source.Compat != "binding" {
		return
	}
	refuse := func(s *scope, keys map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if s.has(key) {
				s.fault(key, "is the binding's own with source__compat=binding: "+keys[key],
					"Remove it, or "+p.own.named("source__compat"))
			}
		}
	}
	refuse(p.own, map[string]string{
		"source__where":       "it leaves no rows out",
		"source__operations":  "it delivers all of them",
		"source__leases_lock": "it locks the database's functions together",
		"lease_ttl":           "60s, renewed every 15s",
		"max_attempts":        "5, counted when a row is taken",
		"retry_delays":        "a batch comes again when its leases have lapsed",
		"concurrency":         "one batch at a time",
	})
	for _, s := range p.outputs {
		refuse(s, map[string]string{"batch": "a request is a batch", "retries": "a batch is sent once"})
	}
	p.poller.Concurrency = 1
	p.poller.Warnings.Add(p.own.named("source__compat"), "drops a row after five attempts, an outage of the destination "+
		"included, as the Azure SQL trigger does (each becomes a dead letter)",
		"Remove it when no function of the Azure SQL trigger runs beside it any more")
}
