package config

// setting is one row of the tables: all that is known about a setting.
type setting struct {
	// name is the key within its scope; "headers__<Name>" is a family with one further segment.
	name string
	kind kind
	// def is the default as a user would write it, "" for none.
	def string
	// defText is what the reference shows for a default that is not a constant, or that needs a word.
	defText string
	need    bool
	// later names the capability that brings the setting; "" when it is there.
	later capability
	doc   string
}

// capability is one of the later parts of Rowrelay whose settings are known already.
type capability string

const (
	available      capability = ""
	outbox         capability = "outbox"
	changeTracking capability = "change tracking"
)

// Scopes: where a table's settings stand.
const (
	pollersGroup = "pollers"
	defaultName  = "output"
	furtherName  = "outputs"
)

// appSettings are those of the whole application.
var appSettings = []setting{
	{name: "state__kind", kind: oneOf("blob", "file", "memory"), need: true,
		doc: "Where checkpoints and leases live: Azure Blob Storage, files of one machine, or memory (forgotten at the end of the process)."},
	{name: "state__connection", kind: connectionName, def: "AzureWebJobsStorage",
		doc: "The setting that holds the storage connection for `state__kind=blob`; it may be an account of its own."},
	{name: "state__container", kind: containerName, def: "db-state",
		doc: "The blob container. It must exist, except on Azurite or with `state__create=true`."},
	{name: "state__create", kind: flag, def: "false",
		doc: "Create the container where it is missing."},
	{name: "state__path", kind: text("a directory", ".rowrelay"), def: ".rowrelay",
		doc: "The directory for `state__kind=file`."},
	{name: "state__app_name", kind: appName, defText: "`WEBSITE_SITE_NAME`, else `local`",
		doc: "The application's part of the documents' names: `state/{app_name}/{poller}.json`. Two applications on one container need two names."},
	{name: "log__level", kind: oneOf("debug", "info", "warn", "error"), def: "info",
		doc: "The least level that is logged."},
	{name: "status__listen", kind: listenAddress, def: "127.0.0.1:7878",
		doc: "Where `rowrelay run` serves `/metrics`. Beyond loopback `status__token` is required."},
	{name: "status__token", kind: secretText,
		doc: "The bearer token that the status address asks for. A secret."},
}

// pollerSettings are those of one poller; its outputs have their own table.
var pollerSettings = []setting{
	{name: "source__connection", kind: connectionName, need: true,
		doc: "The setting that holds the connection string. For SQL Server with an identity: the X of `X__server`, `X__database`, `X__credential`, `X__clientId`."},
	{name: "source__mode", kind: choices(choice{"cursor", available}, choice{"outbox", outbox}, choice{"changetracking", changeTracking}), def: "cursor",
		doc: "How changes are found."},
	{name: "source__table", kind: text("a table", "dbo.Orders"), defText: "this or `source__query`",
		doc: "The table or view, with its schema where needed; parts may be quoted (`[odd.schema].[Order Lines]`)."},
	{name: "source__query", kind: queryText, defText: "this or `source__table`",
		doc: "A SELECT instead of a table, without an outer TOP, LIMIT, ORDER BY or NOLOCK. Needs `source__key`."},
	{name: "source__cursor", kind: nameList, defText: "required in cursor mode",
		doc: "The column that grows with every change, or a list of them (a composite cursor): `updated_at`."},
	{name: "source__key", kind: nameList, defText: "the primary key",
		doc: "The columns that identify a row; they must be unique and NOT NULL."},
	{name: "source__order_key", kind: nameList, defText: "the key",
		doc: "Events that agree in these columns are delivered in order, never two at a time."},
	{name: "source__columns", kind: nameList, defText: "all",
		doc: "The columns that an event's row carries."},
	{name: "source__where", kind: conditionText,
		doc: "An SQL condition that rows must meet. It is put in parentheses."},
	{name: "source__start", kind: startText, def: "earliest",
		doc: "Where a poller without a checkpoint begins: `earliest`, `latest`, or a cursor value (rows after it)."},
	{name: "source__time_zone", kind: timeZone, def: "UTC",
		doc: "The zone of dates and times that carry none: an IANA name (`Europe/Berlin`) or an offset (`+02:00`)."},
	{name: "source__delete_when", kind: oneName,
		doc: "The soft-delete column: where it is true, or neither NULL nor zero, the event is a delete."},
	{name: "source__op", kind: oneOf("upsert", "delete"), def: "upsert",
		doc: "`delete` for a tombstone table: every row of it says that a row is gone."},
	{name: "source__null_cursor", kind: oneOf("report", "fail"), def: "report",
		doc: "What rows with a NULL cursor, which can never be delivered, cause: a metric and a warning, or a failed tick."},
	{name: "source__identity", kind: text("a stable name of the server", "orders-db"), defText: "from the connection",
		doc: "A stable name of the server for the fingerprint, where the same database is reached under several (failover groups, private endpoints, moved files)."},
	{name: "source__late_commits", kind: oneOf("auto", "exact", "overlap", "settle", "none"), def: "auto",
		doc: "How rows are found whose transaction commits after the cursor has passed them. `exact`: the database shows a safe point, and the cursor stays below it. `overlap`: rows are delivered at once, and the last `late_window` is read again and again for new ones. `settle`: rows wait until they are older than `late_window`. `none`: such rows are lost. `auto` picks `exact` where it can, else `overlap`, and keeps what it picked."},
	{name: "source__late_window", kind: durations("1s", "24h", "2m"), def: "2m",
		doc: "For `overlap` and `settle`: how long a transaction may take from drawing its cursor value to its commit. A longer one can be missed where the database does not show it (`rowrelay check` says so)."},
	{name: "source__late_limit", kind: durations("1s", "24h", "1m"), def: "1m",
		doc: "For `exact`: how long an open transaction may hold rows of others back, before `on_long_transaction` applies to them."},
	{name: "source__on_long_transaction", kind: oneOf("deliver_late", "wait"), def: "deliver_late",
		doc: "For `exact`: what becomes of rows that are held back for longer than `late_limit`. `deliver_late` delivers them and remembers them; `wait` waits for the transaction, however long it stays open."},
	{name: "source__late_memory", kind: whole(1000, 8_000_000, "1000000"), def: "1000000",
		doc: "The most delivered rows that are remembered, by `overlap` and for rows that were delivered late, with 8 bytes each. When it is full, new rows are held back until room is made, and nothing is forgotten."},
	{name: "source__on_failover", kind: oneOf("stop", "continue"), def: "stop",
		doc: "What a failover to a replica causes (a changed timeline of PostgreSQL, a changed server_uuid of MySQL): `stop` until `rowrelay state accept-gap`, or `continue`, which is safe only where the replica has every committed row (synchronous replication)."},
	{name: "source__timeout", kind: durations("1s", "10m", "30s"), def: "30s",
		doc: "The bound of one statement."},
	{name: "source__connections", kind: whole(1, 100, "4"), def: "4",
		doc: "The size of the connection pool."},
	{name: "schedule", kind: text("an NCRONTAB schedule", "*/5 * * * * *"), def: "*/1 * * * * *",
		doc: "When `rowrelay run` starts a tick. Under the Functions host the schedule in function.json counts, and this one has no effect."},
	{name: "batch_size", kind: whole(1, 100_000, "500"), def: "500",
		doc: "The most rows of one fetch."},
	{name: "batch_bytes", kind: sizes("1KiB", "256MiB", "8MiB"), def: "8MiB",
		doc: "A fetch stops when its rows reach this size; one larger row travels alone."},
	{name: "max_row_bytes", kind: sizes("1KiB", "64MiB", "4MiB"), def: "4MiB",
		doc: "A larger row cannot be delivered: it is rejected at once, and after `max_attempts` becomes a dead letter without its row."},
	{name: "max_batches", kind: whole(0, 1_000_000, "10"), def: "0",
		doc: "The most batches of one tick; 0: only the budget ends it."},
	{name: "tick_budget", kind: durations("100ms", "24h", "50s"), def: "50s",
		doc: "How long a tick goes on taking batches. The budget, the longest output timeout and 10s together must stay below the host's functionTimeout."},
	{name: "poll_interval", kind: orZero(durations("10ms", "1h", "250ms")), def: "0s",
		doc: "0: the tick ends when the source is drained. Otherwise it asks again after this time, until the budget ends."},
	{name: "lease_ttl", kind: durations("1s", "1h", "60s"), def: "60s",
		doc: "How long after the death of its holder a lease is taken over; at least 10s for `state__kind=blob`. The heartbeat comes at a third of it."},
	{name: "ordering", kind: oneOf("key", "source", "none"), def: "key",
		doc: "What is kept in order: the events of one order key, all events (one lane), or nothing."},
	{name: "concurrency", kind: whole(1, 256, "8"), def: "8",
		doc: "How many requests are in flight together."},
	{name: "max_attempts", kind: whole(1, 100, "5"), def: "5",
		doc: "How many attempts an event has before it becomes a dead letter; the first delivery is attempt 1. An attempt counts only when the destination accepted another event after it: an outage counts none, however long it lasts."},
	{name: "retry_delays", kind: delays("10ms", "24h", "1s,5s,30s,2m"), def: "1s,5s,30s,2m",
		doc: "The waits before attempt 2, 3 and so on, after the attempt before; past the end of the list the last one repeats. The event's order key is parked meanwhile, and other keys go on; with `ordering=source` the poller waits."},
	{name: "max_parked", kind: whole(1, 20_000, "1000"), def: "1000",
		doc: "The most parked events, those that wait behind them included, for each output. At this bound the poller stops and says so: it never drops one."},
	{name: "after_dead_letter", kind: oneOf("release", "block"), def: "release",
		doc: "What becomes of the order key of a dead letter: `release` delivers what comes after it, `block` keeps it parked until somebody replays or purges the dead letter (`rowrelay deadletter`)."},
	{name: "dead_letter__kind", kind: oneOf("state", "queue"), def: "state",
		doc: "Where dead letters go: beside the state documents (`deadletters/{app_name}/{poller}/{event id}.json`), where `rowrelay deadletter` lists, replays and purges them, or to a queue of Azure Storage."},
	{name: "dead_letter__connection", kind: connectionName, defText: "required for queue",
		doc: "The setting that holds the storage connection for `dead_letter__kind=queue`."},
	{name: "dead_letter__queue", kind: queueName, defText: "the poller's name and `-dead`",
		doc: "The queue's name, for `dead_letter__kind=queue`; all outputs of the poller share it."},
}

// outputSettings are those of one output.
var outputSettings = []setting{
	{name: "kind", kind: choices(choice{"http", available}, choice{"queue", available}, choice{"stdout", available},
		choice{"rabbitmq", outbox}, choice{"kafka", outbox}, choice{"eventhubs", outbox}, choice{"servicebus", outbox}), need: true,
		doc: "Where events go: a URL, a queue of Azure Storage, or JSON lines on standard output."},
	{name: "url", kind: httpURL, defText: "required for http",
		doc: "The URL that events are posted to. Its query is not shown anywhere."},
	{name: "timeout", kind: durations("10ms", "10m", "30s"), def: "30s",
		doc: "The bound of one request."},
	{name: "headers__<Name>", kind: headerValue,
		doc: "A header of each request; `_` stands for `-` in its name: `headers__X_Api_Key`. A secret."},
	{name: "secret", kind: signingSecret,
		doc: "Signs each request by Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes. A secret."},
	{name: "gzip", kind: flag, def: "false",
		doc: "Compress request bodies."},
	{name: "connection", kind: connectionName, defText: "required for queue",
		doc: "The setting that holds the storage connection for `kind=queue`."},
	{name: "queue", kind: queueName, defText: "the poller's name",
		doc: "The queue's name."},
	{name: "format", kind: choices(choice{"cloudevents", available}, choice{"rowchange", available}, choice{"sqltrigger", available},
		choice{"row", available}, choice{"payload", outbox}), def: "cloudevents",
		doc: "The wire format of events."},
	{name: "batch", kind: whole(1, 10_000, "100"), def: "100",
		doc: "The most events of one request."},
	{name: "batch_bytes", kind: sizes("1KiB", "100MiB", "1MiB"), def: "1MiB",
		doc: "The most bytes of one request."},
	{name: "retries", kind: whole(1, 20, "3"), def: "3",
		doc: "How often one request is tried in a tick, with a growing wait in between, before its events are tried one by one."},
	{name: "reject_status", kind: statuses, def: "400,413,422",
		doc: "HTTP statuses after which a request is not repeated as it is: its events are tried one by one at once, to find the one that is refused. Whether an attempt counts against that event still depends on others being accepted (`max_attempts`)."},
}
