package config

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

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
		s.fault("source__start", fmt.Sprintf("%q is no start of a shared state", src.Start), "Write earliest or latest")
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
	l.checkFanout(p)
	if l.batchSize > 0 && !s.has("batch_size") {
		p.poller.BatchSize = l.batchSize
	}
	if l.polling > 0 && !s.has("poll_interval") {
		p.poller.PollInterval = l.polling
	}
	checkText(s, "source__where", src.Where, "sqlserver", conditionFlaw)
}
