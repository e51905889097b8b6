package main

import "slices"

// The groups of the checklist, in their order.
const (
	groupApp       = "Application"
	groupState     = "State"
	groupTime      = "Time"
	groupSource    = "Source"
	groupSecurity  = "Security"
	groupOutput    = "Output and failures"
	groupOutbox    = "Outbox"
	groupOperation = "Operation"
)

// checklist is the whole table, in the order of the page.
func checklist() []item {
	return slices.Concat(appItems(), stateItems(), timeItems(), sourceItems(), securityItems(), outputItems(), outboxItems(), operationItems())
}

func appItems() []item {
	return []item{
		{
			id: "settings", group: groupApp, asks: "`rowrelay check` finds no fault", app: judgeSettings,
			why:  "A poller with a fault does not run; the others do, which hides it.",
			mend: "mend each fault: rowrelay check says how",
		},
		{
			id: "app-name", group: groupApp, asks: "the setting state__app_name is written", app: judgeAppName,
			why: "The names of the state documents begin with it. By default it is the site's name: an app that is created anew under another " +
				"name begins from source__start, and two apps on one machine share the name `local`.",
			mend: "set state__app_name to a name that stays",
		},
		{
			id: "slots", group: groupApp, asks: "no other deployment slot runs these pollers", app: judgeSlots,
			why: "A slot has its own copy of the timers. With the same app name it shares the lease, so that each tick runs with whichever version " +
				"was first; with another name everything is delivered twice.",
			mend: "mark AzureWebJobs.<function>.Disabled=true, for each function of a poller, as a setting of every slot but the one in production",
		},
		{
			id: "always-ready", group: groupApp, asks: "the plan keeps the timers running", app: judgeAlwaysReady,
			why: "On a Dedicated plan the app is unloaded without Always On, and its timers with it. On Flex Consumption and Premium an instance that " +
				"is always ready spares the ticks the cold start.",
			mend: "Dedicated: turn Always On on; Flex Consumption, Premium: one always-ready instance for the timers where seconds matter",
		},
		{
			id: "functions", group: groupApp, asks: "every function.json is as `rowrelay functions` writes it", each: judgeFunction,
			why: "With runOnStartup each new instance runs a tick at once; without useMonitor the host forgets a missed one; a retry policy of the " +
				"host repeats whole ticks on top of Rowrelay's own retries.",
			mend: "write it anew with rowrelay functions --force",
		},
		{
			id: "log-level", group: groupApp, asks: "the log level is info, and the host passes lines on", app: judgeLog,
			why:  "Debug lines cost money; without Info there is no line of each tick; what host.json drops, or an app setting AzureFunctionsJobHost__logging__… that overrides it, no alert sees.",
			mend: "set log__level=info, and logLevel.default in host.json to Information, without stricter levels for Function.<poller>",
		},
	}
}

func stateItems() []item {
	return []item{
		{
			id: "state-store", group: groupState, asks: "the state survives the instance, and every instance sees it", app: judgeStore,
			why:  "Without its document a poller begins from source__start: everything again, or with latest what was missed is lost.",
			mend: "set state__kind=blob with a storage account of Azure; alone on one machine: state__kind=file with an absolute state__path on a disk that stays",
		},
		{
			id: "state-reached", group: groupState, asks: "the container is there, and we may list it", app: judgeReached,
			why:  "Ticks fail (checkpoint_load_failed) until it is.",
			mend: "create the container, and give the app's identity Storage Blob Data Contributor on it",
		},
		{
			id: "state-account", group: groupState, asks: "the state has an account, or a container with rights, of its own", app: judgeAccount,
			why: "AzureWebJobsStorage holds the host's keys and, on some plans, the code: whoever has its key to reach the checkpoints has all of that too " +
				"(seed 000, §10: a dedicated container, and only the rights on it).",
			mend: "name another account in state__connection, or reach it with an identity that has Storage Blob Data Contributor on the container only",
		},
		{
			id: "state-copies", group: groupState, asks: "neither soft delete nor versions keep every old state", app: judgeCopies,
			why:  "A document is rewritten by each commit and each heartbeat. With soft delete for blobs, or versions, each of these is kept and paid for.",
			mend: "turn soft delete for blobs and versions off in this account, or keep the state in an account of its own; soft delete for containers costs nothing",
		},
		{
			id: "start", group: groupState, asks: "a lost document means doubles, not loss", each: judgeStart,
			why: "source__start counts where there is no document: at the first start, and after somebody deleted it. With latest, rows that " +
				"nobody has seen are then passed over without a word.",
			mend: "once the poller has its document, set source__start to earliest or to a value",
		},
	}
}

func timeItems() []item {
	return []item{
		{
			id: "budget", group: groupTime, asks: "a tick ends well before the host would kill it", each: judgeBudget,
			why:  "At functionTimeout the host kills the process, and everything that is under way in it.",
			mend: "lower tick_budget, or raise functionTimeout in host.json (an app setting AzureFunctionsJobHost__functionTimeout overrides it)",
		},
		{
			id: "timeouts", group: groupTime, asks: "one statement and one request take less than a tick", each: judgeTimeouts,
			why:  "A single slow statement or request would use the whole budget, and every tick would end with nothing done.",
			mend: "keep source__timeout and output__timeout below tick_budget",
		},
		{
			id: "lease", group: groupTime, asks: "the lease outlasts a request and a short outage of the store", each: judgeLease,
			why: "Rowrelay renews its lease every third of lease_ttl while a tick runs, so it need not outlast the tick (as seed 000, §7 asks of a runtime " +
				"without heartbeats); but it is lost when the store cannot be reached for about half of it, and then a batch is delivered twice. A long one delays " +
				"the takeover after a crash.",
			mend: "set lease_ttl between 30s and 5m, and above output__timeout (default 60s)",
		},
		{
			id: "schedule", group: groupTime, asks: "the timer fires, and ticks that poll leave no gap", each: judgeSchedule,
			why: "With poll_interval a tick looks again and again until its budget ends; a timer that fires less often leaves times in which nobody looks. " +
				"(Seed 000, §7 also asks for a period of at least half of the lease. Here an idle tick takes no lease, and a timer may fire every second.)",
			mend: "make the timer's period at most tick_budget, or leave poll_interval out",
		},
		{
			id: "lag", group: groupTime, asks: "a change is seen soon enough for the alerts", each: judgeLag,
			why:  "The longest time between two ticks is the least lag that you have. Alerts on lag and on missing successes assume minutes.",
			mend: "shorten the schedule, or raise the alerts' thresholds and accept this item (--accept lag)",
		},
	}
}

func sourceItems() []item {
	return []item{
		{
			id: "late-commits", group: groupSource, asks: "rows that commit late are found", each: judgeLate,
			why: "A transaction takes its cursor value when it writes, and shows it when it commits. Whatever came between is passed over unless late rows " +
				"are looked for (docs/late-commits.md).",
			mend: "make the cursor exact (rowrelay check --ddl), or let the login see open transactions",
		},
		{
			id: "index", group: groupSource, asks: "an index serves the order of the cursor", each: judgeIndex,
			why: "Otherwise every fetch reads and sorts the table.", mend: "create the index that rowrelay check shows",
		},
		{
			id: "key", group: groupSource, asks: "the key is proved unique and never NULL", each: judgeKey,
			why:  "Rows with one cursor are told apart by the key (seed 000, §1: a stable key with a total order).",
			mend: "watch the table with source__table, or be sure that the query's key is unique",
		},
		{
			id: "cursor", group: groupSource, asks: "the cursor's type is fine enough, and every row has one", each: judgeCursor,
			why: "Two writes within the resolution of the type look like one (seed 000, window W7: the earlier state is not delivered); a row whose cursor is NULL is " +
				"never delivered.",
			mend: "use rowversion, xid8, an integer that grows, or a timestamp of microseconds; make the column NOT NULL with a default",
		},
		{
			id: "cursor-moves", group: groupSource, asks: "updates move the cursor", each: judgeMoves,
			why:  "An update that leaves the cursor as it was is not seen.",
			mend: "watch a column that every write sets; for a table of new rows only this is as it should be",
		},
		{
			id: "gaps", group: groupSource, asks: "a restored or failed-over database is noticed", each: judgeGaps,
			why: "After a restore the stored position may be ahead of the data: what is written then below it would be passed over. With " +
				"source__on_failover=continue the same holds for an asynchronous replica.",
			mend: "let the login read what tells one life of the database from the next, and use source__on_failover=stop unless replicas are synchronous",
		},
		{
			id: "connections", group: groupSource, asks: "there is a connection for each output", each: judgeConnections,
			why:  "Outputs of a poller share its pool: with fewer connections they wait for each other.",
			mend: "raise source__connections; all instances together must stay below the database's own limit",
		},
	}
}
