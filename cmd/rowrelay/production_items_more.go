package main

func securityItems() []item {
	return []item{
		{
			id: "source-tls", group: groupSecurity, asks: "the connection to the database is encrypted and verified", each: judgeSourceTLS,
			why:  "Whoever is on the way can otherwise be the server: read the password, and invent rows.",
			mend: "leave the default in force, and name the authority that signed the server's certificate",
		},
		{
			id: "output-tls", group: groupSecurity, asks: "outputs, state, queues and telemetry are reached over verified TLS", each: judgeOutputTLS,
			why: "Rows, keys, signatures and the headers of telemetry travel there.", mend: "use https, amqps, TLS; only connections inside of one machine may do without",
		},
		{
			id: "login-rights", group: groupSecurity, asks: "the database login is no administrator", each: judgeAdmin,
			why:  "In cursor mode Rowrelay needs SELECT on one table. Whatever else the login may do, whoever gets hold of it may do too.",
			mend: "make a login of its own with the rights that its mode needs, and no others (deploy/sql, docs/quickstarts)",
		},
		{
			id: "read-only", group: groupSecurity, asks: "the login cannot write the table that it watches", each: judgeWrites,
			why: "In cursor mode Rowrelay only reads.", mend: "REVOKE what is named here",
		},
		{
			id: "identities", group: groupSecurity, asks: "an identity logs in wherever the service knows identities", each: judgeIdentities,
			why:  "A key can be copied and does not expire; an identity is the app's own.",
			mend: "use the identity form of the setting (docs/settings.md), and grant the identity its role",
		},
		{
			id: "secrets", group: groupSecurity, asks: "secrets that are left are references to a Key Vault", app: judgeSecrets,
			why:  "App settings are shown to whoever may read the app's configuration. A resolved reference looks to the app like a value: this cannot be told from inside.",
			mend: "write @Microsoft.KeyVault(SecretUri=…) in the app setting, and give the app's identity Key Vault Secrets User",
		},
	}
}

func outputItems() []item {
	return []item{
		{
			id: "idempotent", group: groupOutput, asks: "receivers bear every event twice", each: judgeIdempotent, untold: true,
			why:  "Delivery is at-least-once: seed 000, §4 and docs/duplicates.md list when an event comes again.",
			mend: "send the receiver one event twice, and a batch of which it has seen a part (docs/duplicates.md has ways to be idempotent and a test for each)",
		},
		{
			id: "signature", group: groupOutput, asks: "a receiver of HTTP can tell that it is us", each: judgeSignature,
			why:  "Otherwise anybody who knows the URL can send events. A key in the URL is kept in logs on the way.",
			mend: "set output__secret (Standard Webhooks), or send a key in a header: output__headers__x_functions_key",
		},
		{
			id: "queues", group: groupOutput, asks: "the queues of events and of dead letters are there", each: judgeQueues,
			why:  "Events to a queue that is missing are held back, and dead letters keep their key parked.",
			mend: "create the queue, and give the identity Storage Queue Data Message Sender (which may not see whether the queue is there: then look yourself)",
		},
		{
			id: "attempts", group: groupOutput, asks: "a refused event is tried long enough, and where it ends is known", each: judgeAttempts,
			why:  "An event is given up after max_attempts. When all of them fall into a few seconds, a short fault of the receiver's makes dead letters.",
			mend: "raise max_attempts, or lengthen retry_delays: the defaults last 2m36s",
		},
		{
			id: "held", group: groupOutput, asks: "nothing is paused, parked or dead-lettered now", each: judgeHeld,
			why: "What is set aside before the start is forgotten after it.", mend: "look at it: rowrelay state show, rowrelay deadletter list, rowrelay outbox status",
		},
		{
			id: "ordering", group: groupOutput, asks: "events of one key stay in order", each: judgeOrdering,
			why: "With ordering=none an older state may arrive after a newer one. With ordering=source one receiver that is slow or refuses holds " +
				"everything.",
			mend: "use ordering=key; with none the receiver has to compare versions: then accept this item (--accept ordering)",
		},
	}
}

func outboxItems() []item {
	return []item{
		{
			id: "outbox-strategy", group: groupOutbox, asks: "the strategy suits the table, the engine and the instances", each: judgeStrategy,
			why: "Instances beyond the number of partitions are idle, and some strategies gain nothing on some engines.", mend: "see docs/outbox.md, Strategies",
		},
		{
			id: "outbox-snapshot", group: groupOutbox, asks: "SQL Server reads row versions (READ_COMMITTED_SNAPSHOT)", each: judgeSnapshot,
			why:  "Without it the publisher waits for the writers of the outbox, and they for it.",
			mend: "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE, when the application is at rest",
		},
		{
			id: "outbox-cleanup", group: groupOutbox, asks: "published events are deleted", each: judgeCleanup,
			why:  "The table grows without end.",
			mend: "set source__cleanup_schedule, and write the function with rowrelay functions",
		},
		{
			id: "outbox-vacuum", group: groupOutbox, asks: "PostgreSQL's autovacuum follows the outbox", each: judgeVacuum,
			why: "Each event leaves two dead row versions. By default autovacuum waits for a fifth of the table to be dead, which with a week of published events is " +
				"too late.",
			mend: "ALTER TABLE … SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000), as rowrelay outbox init does",
		},
	}
}

func operationItems() []item {
	return []item{
		{
			id: "metrics", group: groupOperation, asks: "somebody collects the metrics", app: judgeMetrics,
			why:  "Lag, failures and dead letters are seen there first (seed 000, §10).",
			mend: "set OTEL_EXPORTER_OTLP_ENDPOINT, or scrape /metrics (docs/observability.md)",
		},
		{
			id: "alerts", group: groupOperation, asks: "the alerts are deployed and reach a person", app: judgeAlerts, untold: true,
			why:  "Seed 000, §10: failures, lag and the last success have alerts.",
			mend: "load deploy/alerts.yaml, and let one of its alerts fire on purpose",
		},
		{
			id: "status-page", group: groupOperation, asks: "the status page asks who is there", app: judgeStatus,
			why:  "It shows positions and errors, and its buttons pause and replay.",
			mend: "set status__token to at least 16 random characters; under the Functions host leave authLevel at function or admin",
		},
		{
			id: "recovery", group: groupOperation, asks: "a restore of the database and a lost state have been rehearsed", app: judgeRecovery, untold: true,
			why:  "After a restore the poller stops at a gap, and a person has to say where to go on.",
			mend: "restore a copy, and go through docs/operations.md: rowrelay state accept-gap, rowrelay state reset, rowrelay backfill",
		},
		{
			id: "runbook", group: groupOperation, asks: "whoever is on call can handle a poison row", app: judgeRunbook, untold: true,
			why:  "Seed 000, §10: the runbook covers the row that is refused again and again. Here it is parked and becomes a dead letter by itself; somebody has to look at it.",
			mend: "go through docs/operations.md and docs/failures.md: rowrelay deadletter list, show, replay, purge",
		},
	}
}
