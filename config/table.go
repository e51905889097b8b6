package config

import (
	"slices"

	"github.com/rowrelay/rowrelay/config/kind"
	"github.com/rowrelay/rowrelay/mode"
)

// setting is one row of the tables: all that is known about a setting.
type setting struct {
	// name is the key within its scope; "headers__<Name>" is a family with one further segment.
	name string
	kind kind.Kind
	// def is the default as a user would write it, "" for none.
	def string
	// defText is what the reference shows for a default that is not a constant, or that needs a word.
	defText string
	need    bool
	// modes are those that the setting is for; nil for all.
	modes []mode.Mode
	// defIn is the default in the modes where it is another.
	defIn map[mode.Mode]string
	// mend is what to do where the setting stands in the wrong mode, if not just to remove it.
	mend string
	// member checks and returns the name in a family; nil takes every name.
	member func(string) (string, *kind.Flaw)
	doc    string
}

// isFor reports whether the setting has an effect in a mode. A mode that is not known has every setting.
func (row setting) isFor(m mode.Mode) bool {
	return row.modes == nil || m == "" || slices.Contains(row.modes, m)
}

// Sets of modes, for rows of the tables.
var (
	inCursor    = []mode.Mode{mode.Cursor}
	inTracking  = []mode.Mode{mode.ChangeTracking}
	inLeased    = []mode.Mode{mode.Leased}
	inFanout    = []mode.Mode{mode.Outbox, mode.Leased}
	inChanges   = []mode.Mode{mode.ChangeTracking, mode.Leased}
	inTables    = []mode.Mode{mode.Cursor, mode.ChangeTracking, mode.Leased}
	inDocuments = []mode.Mode{mode.Cursor, mode.ChangeTracking}
	inOutbox    = []mode.Mode{mode.Outbox}
)

// Scopes: where a table's settings stand.
const (
	pollersGroup = "pollers"
	defaultName  = "output"
	furtherName  = "outputs"
)

// appSettings are those of the whole application.
var appSettings = []setting{
	{name: "state__kind", kind: kind.OneOf("blob", "table", "sql", "file", "memory"),
		defText: "required, unless all pollers are outboxes",
		doc:     "Where checkpoints and leases live: Azure Blob Storage, Azure Table Storage, a table of a database, files of one machine, or memory (forgotten at the end of the process): see [state.md](state.md#stores)."},
	{name: "state__connection", kind: connectionName, def: "AzureWebJobsStorage",
		defText: "`AzureWebJobsStorage`; required for `sql`",
		doc:     "The setting that holds the storage connection for `state__kind=blob` and `table`; it may be an account of its own. For `sql` the setting that holds the database's connection string; it may be a source's."},
	{name: "state__container", kind: containerName, def: "db-state",
		doc: "The blob container. It must exist, except on Azurite or with `state__create=true`."},
	{name: "state__table", kind: kind.Text("a table", "rowrelay_state"),
		defText: "`rowrelay_state`; for `table` `rowrelaystate`",
		doc:     "The table for `state__kind=sql` (with its schema where needed) and `table` (3 to 63 letters and digits). It must exist, except on Azurite or with `state__create=true`; `rowrelay state init` prints or creates that of a database."},
	{name: "state__create", kind: kind.Flag, def: "false",
		doc: "Create what is missing: the container or table of the state, and the queues, exchanges and topics that outputs send to."},
	{name: "state__path", kind: kind.Text("a directory", ".rowrelay"), def: ".rowrelay",
		doc: "The directory for `state__kind=file`."},
	{name: "state__app_name", kind: appName, defText: "`WEBSITE_SITE_NAME`, else `local`",
		doc: "The application's name in the names of its documents: `state/{app_name}/{poller}.json`. Two applications on one container need two names."},
	{name: "log__level", kind: kind.OneOf("debug", "info", "warn", "error"), def: "info",
		doc: "Log lines below this level are left out."},
	{name: "status__listen", kind: listenAddress, def: "127.0.0.1:7878",
		doc: "Where `rowrelay run` serves the status page, `/status.json`, `/metrics` and `/healthz`. An address that other machines can reach needs `status__token`."},
	{name: "status__token", kind: secretText,
		doc: "The token that the status address asks for; without one nothing can be changed from the page. Random, 16 characters or more: `openssl rand -hex 24`. A secret."},
	{name: "Sql_Trigger_MaxBatchSize", kind: kind.Whole(1, 100_000, "100"), defText: "100",
		doc: "With `source__leases=azfunc`: the default of `batch_size`. `Sql_Trigger_BatchSize` is its old name."},
	{name: "Sql_Trigger_BatchSize", kind: kind.Whole(1, 100_000, "100"), defText: "`Sql_Trigger_MaxBatchSize`",
		doc: "The old name of `Sql_Trigger_MaxBatchSize`, which wins over it."},
	{name: "Sql_Trigger_PollingIntervalMs", kind: kind.Whole(10, 3_600_000, "1000"), defText: "1000",
		doc: "With `source__leases=azfunc`: the default of `poll_interval`, in milliseconds. A full batch is followed by the next at once."},
	{name: "Sql_Trigger_AppLockTimeoutMs", kind: kind.Whole(1000, 3_600_000, "30000"), def: "30000",
		doc: "With `source__leases=azfunc`: how long the application lock is waited for, in milliseconds, at most nine tenths of `source__timeout`."},
	{name: "Sql_Trigger_MaxChangesPerWorker", kind: kind.Whole(1, 1_000_000, "1000"), def: "1000",
		doc: "For `changetracking`, under the name that it has for the Azure SQL trigger: how many changes that wait make one worker more, in [the figures for an autoscaler](change-tracking.md#scaling). It changes nothing else."},
}

// pollerSettings are those of one poller; its outputs have their own table.
var pollerSettings = []setting{
	{name: "source__connection", kind: connectionName, need: true,
		doc: "The setting that holds the connection string: `sqlite:shop.db`, `postgres://…`, `mysql://…`, `sqlserver://…`; see [Connections](#connections). For SQL Server with an identity: the X of `X__server`, `X__database`, `X__credential`, `X__clientId`."},
	{name: "source__mode", kind: kind.OneOf(string(mode.Cursor), string(mode.ChangeTracking), string(mode.Outbox)),
		def: string(mode.Cursor),
		doc: "How changes are found: `cursor` reads rows after a position in a column that grows, `changetracking` reads inserts, updates and deletes that triggers recorded, on SQL Server its own change tracking ([change-tracking.md](change-tracking.md)), `outbox` publishes the events of an outbox table and keeps their states in it."},
	{name: "source__table", kind: kind.Text("a table", "dbo.Orders"),
		defText: "this or `source__query`; required in the other modes",
		doc:     "The table or view, with its schema where needed; in outbox mode the outbox. Parts may be quoted (`[odd.schema].[Order Lines]`)."},
	{name: "source__query", modes: inCursor,
		mend: "Name the outbox with source__table: its rows are marked when they are published", kind: queryText,
		defText: "this or `source__table`",
		doc:     "A SELECT instead of a table, without an outer TOP, LIMIT, ORDER BY or NOLOCK. Needs `source__key`."},
	{name: "source__cursor", modes: inCursor,
		mend: "Remove it: an outbox's events are found by their state, and published by seq", kind: kind.Columns,
		defText: "required in cursor mode",
		doc:     "The column that grows with every change, or a list of them (a composite cursor): `updated_at`."},
	{name: "source__key", modes: inCursor,
		mend: "Remove it: an outbox's events are known by seq, or by the column that source__map__id names", kind: kind.Columns,
		defText: "the primary key",
		doc:     "The columns that identify a row; they must be unique and NOT NULL."},
	{name: "source__order_key", modes: inDocuments,
		mend: "Remove it: an outbox's events are kept in order by aggregate (source__map__aggregate_id)", kind: kind.Columns,
		defText: "the key",
		doc: "Events with the same values in these columns are delivered in order, never two at a time. Under " +
			"`source__late_commits=overlap` [order has limits](late-commits.md#order)."},
	{name: "source__columns", modes: inTables, kind: kind.Columns, defText: "all",
		doc: "The columns that an event carries."},
	{name: "source__where", modes: inTables,
		mend: "Remove it: every event of an outbox is published, or it would wait in the table for ever", kind: conditionText,
		doc: "An SQL condition that rows must meet. It is put in parentheses."},
	{name: "source__start", modes: inTables, mend: "Remove it: every pending event is published, however old",
		kind: startText, def: "earliest",
		doc: "Where a poller without a checkpoint begins: `earliest`, `latest`, or a cursor value (rows after it). With `changetracking` also `snapshot`: [every row that the table has, beside the changes](change-tracking.md#the-whole-table-first)."},
	{name: "source__time_zone", modes: inCursor, kind: timeZone, def: "UTC",
		doc: "The zone of dates and times that carry none: an IANA name (`Europe/Berlin`) or an offset (`+02:00`). For a cursor in local time it bridges the end of daylight saving: see [late-commits.md](late-commits.md)."},
	{name: "source__delete_when", modes: inCursor, kind: kind.Column,
		doc: "The soft-delete column: where it is true, or neither NULL nor zero, the event is a delete."},
	{name: "source__op", modes: inCursor, kind: kind.OneOf("upsert", "delete"), def: "upsert",
		doc: "`delete` for a tombstone table: every row of it says that a row is gone."},
	{name: "source__null_cursor", modes: inCursor, kind: kind.OneOf("report", "fail"), def: "report",
		doc: "Rows with a NULL cursor cannot be delivered. `report`: a metric and a warning count them. `fail`: the tick fails."},
	{name: "source__identity", modes: inDocuments,
		mend: "Remove it: an outbox's position is in its own rows, so that no fingerprint guards it",
		kind: kind.Text("a stable name of the server", "orders-db"), defText: "from the connection",
		doc: "A stable name of the server for the fingerprint, where the same database is reached under several (failover groups, private endpoints, moved files)."},
	{name: "source__late_commits", modes: inCursor,
		mend: "Remove it: an event that is committed late is pending like any other, and cannot be missed",
		kind: kind.OneOf("auto", "exact", "overlap", "settle", "none"), def: "auto",
		doc: "How rows are found whose transaction commits after the cursor has passed them ([late-commits.md](late-commits.md)): by the database's safe point (`exact`), by reading the last `late_window` again and again (`overlap`), by waiting until they are older than that (`settle`), or not at all (`none`). `auto` picks `exact` where it can, else `overlap`, and keeps what it picked."},
	{name: "source__late_window", modes: inDocuments,
		mend: "Remove it: an event that is committed late is pending like any other, and cannot be missed",
		kind: kind.Durations("1s", "24h", "2m"), def: "2m",
		doc: "For `overlap` and `settle`: the longest time that a transaction may need from taking its cursor value to its commit. Rows of a longer one can be missed where the database does not show it (`rowrelay check` says whether it does)."},
	{name: "source__late_limit", modes: inCursor,
		mend: "Remove it: an event that is committed late is pending like any other, and cannot be missed",
		kind: kind.Durations("1s", "24h", "1m"), def: "1m",
		doc: "For `exact`: how long an open transaction may hold rows of others back. Then `source__on_long_transaction` decides about them."},
	{name: "source__on_long_transaction", modes: inCursor,
		mend: "Remove it: an event that is committed late is pending like any other, and cannot be missed",
		kind: kind.OneOf("deliver_late", "wait"), def: "deliver_late",
		doc: "For `exact`: what becomes of rows that are held back for longer than `late_limit`. `deliver_late` delivers them and remembers them; `wait` waits for the transaction, however long it stays open."},
	{name: "source__late_memory", modes: inDocuments,
		mend: "Remove it: an event that is committed late is pending like any other, and cannot be missed",
		kind: kind.Whole(1000, 8_000_000, "1000000"), def: "1000000",
		doc: "How many delivered rows are remembered at most, 8 bytes each: by `overlap`, and for rows that were delivered late. When it is full, new rows wait until there is room; nothing is forgotten."},
	{name: "source__future_rows", modes: inCursor, mend: "Remove it: an outbox's events are published by seq, not by time",
		kind: kind.OneOf("deliver", "hold", "fail"), def: "deliver",
		doc: "What becomes of rows whose cursor is a time that the database's clock has not reached (in `overlap`: not within `late_window`). The position waits before them. `deliver` delivers each once and remembers it, `hold` leaves it until then (`settle` always does), `fail` also fails every tick that sees one."},
	{name: "source__on_failover", modes: inDocuments, kind: kind.OneOf("stop", "continue"), def: "stop",
		doc: "What a failover to a replica causes (a changed timeline of PostgreSQL, a changed server_uuid of MySQL, another replica of SQL Server): `stop` until `rowrelay state accept-gap`, or `continue`, which is safe only where the replica has every committed row (synchronous replication)."},
	{name: "source__on_gap", modes: inTracking, kind: kind.OneOf("stop", "resync"), def: "stop",
		doc: "What a [gap](change-tracking.md#a-gap) causes: `stop` until a person decides, or `resync`, which reads the whole table again, beside the changes from then on. Another database always stops."},
	{name: "source__operations", modes: inChanges, kind: kind.Operations, defText: "all",
		doc: "Which changes are delivered: a list of `insert`, `update` and `delete`. What a row was since the position counts: one that was inserted and updated since is an insert."},
	{name: "source__changed", modes: inTracking, kind: kind.Columns, defText: "any column",
		doc: "Columns: an update is delivered only if one of them was written since the position. Inserts and deletes are delivered all the same. The change table has to record it: [run `rowrelay track install` with it](change-tracking.md#only-some-columns)."},
	{name: "source__snapshot_chunk", modes: inTracking, kind: kind.Whole(1, 100_000, "5000"), def: "5000",
		doc: "How many rows are read at a time where the whole table is (`source__start=snapshot`, `source__on_gap=resync`); changes come between two chunks."},
	{name: "source__ignore_context", modes: inTracking, kind: kind.Hex, defText: "none",
		doc: "The context of one's own writes, as hexadecimal digits (`0x52454C59`): a change is left out where every write since the position was made under it, and none of another's is lost ([how a writer says it](change-tracking.md#ones-own-writes)). Not on SQLite."},
	{name: "source__leases", modes: inChanges, kind: kind.OneOf("none", "azfunc"), def: "none",
		doc: "Experimental, on SQL Server: `azfunc` shares the changes between instances by leases on the rows, in the tables of the Azure SQL trigger ([azure-sql-trigger.md](azure-sql-trigger.md))."},
	{name: "source__leases_table", modes: inLeased, kind: kind.Text("a name", "Leases_orders"),
		defText: "`Leases_{id}_{table}`",
		doc:     "The leases table in the schema `az_func`: the binding's `leasesTableName`."},
	{name: "source__site_name", modes: inLeased, kind: kind.Text("a site", "shop-functions"),
		defText: "`WEBSITE_SITE_NAME`",
		doc:     "The site of the function that is taken over; the function's id is made of it and `source__function_name`."},
	{name: "source__function_name", modes: inLeased, kind: kind.Text("a function", "OrdersTrigger"),
		defText: "the poller's name",
		doc:     "The name of the function that is taken over, as it is written there."},
	{name: "source__legacy_function_id", modes: inLeased, kind: kind.Text("16 digits", "0a1b2c3d4e5f6071"),
		defText: "none",
		doc:     "The id in `az_func.GlobalState` that the function had before the binding made it of the site's name. Where there is no state of the new id, the old one's becomes it, with its leases."},
	{name: "source__leases_lock", modes: inLeased, kind: kind.OneOf("database", "table"), def: "database",
		doc: "`database` is the binding's one application lock for all functions of the database, `table` one for each leases table: never beside the binding."},
	{name: "source__compat", modes: inLeased, kind: kind.OneOf("none", "binding"), def: "none",
		doc: "`binding` has the Azure SQL trigger's exact behaviour, and may run beside it: batches succeed or fail as a whole, five attempts, no fencing, gaps jumped over. What it drops is told ([azure-sql-trigger.md](azure-sql-trigger.md#exactly-as-the-binding))."},
	{name: "source__track_table", modes: inTracking, kind: kind.Text("a table", "rowrelay_changes_orders"),
		defText: "`rowrelay_changes_` and the table's name",
		doc:     "The change table, beside `source__table` in its schema; `rowrelay track install` creates it. Several pollers may share one."},
	{name: "source__track_retention", modes: inTracking, kind: kind.Durations("1h", "8760h", "168h"), def: "168h",
		doc: "For how long `rowrelay track purge` keeps deletes that a poller has not delivered. Older ones go all the same: the poller then stops at a gap. Not for SQL Server, whose database has its own (`CHANGE_RETENTION`)."},
	{name: "source__timeout", kind: kind.Durations("1s", "10m", "30s"), def: "30s",
		doc: "The longest time that one statement may take."},
	{name: "source__connections", kind: kind.Whole(1, 100, "4"), def: "4",
		doc: "How many connections to the database the poller uses at the same time at most. All pollers of one connection string share 8, or as many as the largest of these; outboxes share as many more."},
	{name: "source__map__<role>", modes: inOutbox, member: roleName,
		kind:    kind.Text("column, or an option's value", "EventId"),
		defText: "the role's own name, `retry_count` for `attempts`",
		doc: "For a table that was not made by `rowrelay outbox init`: the column for each role (" + codeList(roles) +
			"), or `none`; and the options `pending`, `done` and `on_published` ([outbox-tables.md](outbox-tables.md#how-a-column-is-named))."},
	{name: "source__strategy", kind: kind.OneOf("leader", "partitioned", "skip_locked"), modes: inOutbox,
		defText: "`partitioned`, or `leader` where there is no bucket column",
		doc:     "How instances share an outbox: one publishes all of it (`leader`), each takes partitions of its buckets (`partitioned`), or each takes free partitions that have work, for one batch (`skip_locked`)."},
	{name: "source__partitions", kind: kind.Whole(1, 1024, "64"), modes: inOutbox, def: "64",
		doc: "The number of partitions, unless the strategy is `leader`. At most so many instances publish at the same time. A change takes effect when no instance publishes."},
	{name: "source__claim_ttl", kind: kind.Durations("3s", "1h", "30s"), modes: inOutbox, def: "30s",
		doc: "How long a claim lasts unless it is renewed, by the database's clock. After a crash other instances take over when it has ended."},
	{name: "source__claims_table", kind: kind.Text("a table", "rowrelay_claims"), modes: inOutbox, def: "rowrelay_claims",
		doc: "The table of claims, in the outbox's database; `rowrelay outbox init` creates it."},
	{name: "source__cleanup_schedule", kind: scheduleOrNone, modes: inOutbox, def: "0 0 * * * *",
		doc: "When `rowrelay run` deletes published events that are older than `source__retention`; `none`: never. Under the Functions host `rowrelay functions` writes a function of its own with this schedule."},
	{name: "source__retention", kind: kind.Durations("1m", "87600h", "168h"), modes: inOutbox, def: "168h",
		doc: "How long published and discarded events are kept. Dead letters are kept until somebody decides on them."},
	{name: "source__cleanup_chunk", kind: kind.Whole(1, 1_000_000, "10000"), modes: inOutbox, def: "10000",
		doc: "How many events one statement of the clean-up deletes at most."},
	{name: "source__fanout_connection", kind: connectionName, modes: inFanout, defText: "none: no fan-out",
		doc: "Scale-out under the Functions host: the setting that holds the storage connection of the queue through which partitions with work (with `source__leases=azfunc` the workers that the changes ask for) are handed to other instances. Needs `source__fanout_queue`."},
	{name: "source__fanout_queue", kind: queueName, modes: inFanout, defText: "none: no fan-out",
		doc: "The queue of `source__fanout_connection`. A partition's function ends when the partition is drained, whatever `poll_interval` is."},
	{name: "schedule", kind: kind.Text("an NCRONTAB schedule", "*/5 * * * * *"), def: "*/1 * * * * *",
		doc: "When `rowrelay run` starts a tick. Under the Functions host the schedule in function.json counts, and this one has no effect."},
	{name: "batch_size", kind: kind.Whole(1, 100_000, "500"), def: "500",
		defIn: map[mode.Mode]string{mode.Leased: "100"},
		doc:   "How many rows one fetch reads at most. Fetches grow up to `batch_size_max`."},
	{name: "batch_size_max", kind: kind.Whole(1, 100_000, "4000"), modes: inDocuments,
		defText: "`batch_size`; 4000 where that is not set",
		doc:     "While a full batch is delivered within 50 ms, the next fetch reads twice as many rows, up to this. Not with `max_batches`."},
	{name: "batch_bytes", kind: kind.Sizes("256MiB", "8MiB"), def: "8MiB",
		doc: "A fetch stops when its rows reach this size; one larger row travels alone."},
	{name: "max_row_bytes", kind: kind.Sizes("64MiB", "4MiB"), def: "4MiB",
		doc: "A larger row cannot be delivered: it is rejected at once, and after `max_attempts` becomes a dead letter without its row."},
	{name: "max_batches", kind: kind.Whole(0, 1_000_000, "10"), def: "0",
		doc: "How many batches of live rows one tick takes at most, late ones and backfills not counted; 0: as many as fit into `tick_budget`."},
	{name: "tick_budget", kind: kind.Durations("100ms", "24h", "50s"), def: "50s",
		doc: "How long a tick goes on taking batches. The budget, the longest output timeout and 10s together must stay below the host's functionTimeout."},
	{name: "poll_interval", kind: kind.OrZero(kind.Durations("10ms", "1h", "250ms")), def: "0s",
		defIn: map[mode.Mode]string{mode.Leased: "1s", mode.Outbox: "100ms"},
		doc:   "0: the tick ends when the source is drained. Otherwise it asks again after this time, until the budget ends."},
	{name: "poll_interval_max", kind: kind.Durations("10ms", "1h", "1s"), defText: "`poll_interval`",
		defIn: map[mode.Mode]string{mode.Outbox: "1s"},
		doc:   "While there is nothing to do, the wait doubles from `poll_interval` up to this. The first event sets it back."},
	{name: "lease_ttl", modes: inTables,
		mend: "Write source__claim_ttl instead: an outbox has claims in its database, and no lease",
		kind: kind.Durations("1s", "1h", "60s"), def: "60s",
		doc: "How long a lease lasts unless it is renewed, which happens every third of this time; at least 10s for `state__kind=blob` and `table`. After a crash another instance takes over when it has ended."},
	{name: "ordering", kind: kind.OneOf("key", "source", "none"), def: "key",
		doc: "What is kept in order: the events of one order key, all events (one lane), or nothing."},
	{name: "concurrency", kind: kind.Whole(1, 256, "8"), def: "8",
		doc: "How many requests may be in flight at the same time."},
	{name: "max_attempts", kind: kind.Whole(1, 100, "5"), def: "5",
		doc: "How many attempts an event has before it becomes a dead letter; the first delivery is attempt 1. An attempt counts only where [something shows that the event is at fault](failures.md#whose-fault-a-failure-is). An outage counts none, however long it lasts."},
	{name: "retry_delays", kind: kind.Delays("10ms", "24h", "1s,5s,30s,2m"), def: "1s,5s,30s,2m",
		doc: "The waits before attempt 2, 3 and so on, after the attempt before; past the end of the list the last one repeats. The event's order key is parked meanwhile, and other keys go on; with `ordering=source` the poller waits."},
	{name: "max_parked", modes: inDocuments,
		mend: "Remove it: failed and waiting events stay in the outbox, however many they are",
		kind: kind.Whole(1, 20_000, "1000"), def: "1000",
		doc: "How many events may be parked, those that wait behind them included, for each output. At this bound the poller stops and says so: it never drops one."},
	{name: "after_dead_letter", kind: kind.OneOf("release", "block"), def: "release",
		defIn: map[mode.Mode]string{mode.Outbox: "block"},
		doc:   "What becomes of the order key of a dead letter: `release` delivers what comes after it, `block` keeps it parked until somebody replays or purges the dead letter (`rowrelay deadletter`), in outbox mode requeues or discards it (`rowrelay outbox`)."},
	{name: "dead_letter__kind", kind: kind.OneOf("state", "queue"), def: "state",
		doc: "Where dead letters go: beside the state documents, where `rowrelay deadletter` lists, replays and purges them, or to a queue of Azure Storage. In outbox mode `state` is the state of the row itself (`DEAD LETTER`, `rowrelay outbox list`), and a queue gets a copy."},
	{name: "dead_letter__connection", kind: connectionName, defText: "required for queue",
		doc: "The setting that holds the storage connection for `dead_letter__kind=queue`."},
	{name: "dead_letter__queue", kind: queueName, defText: "the poller's name and `-dead`",
		doc: "The queue's name, for `dead_letter__kind=queue`; all outputs of the poller share it."},
}

// outputSettings are those of one output.
var outputSettings = []setting{
	{name: "kind", kind: kind.OneOf("http", "queue", "stdout", "rabbitmq", "kafka", "eventhubs", "servicebus"), need: true,
		doc: "Where events go: a URL, a queue of Azure Storage, JSON lines on standard output, or a broker."},
	{name: "url", kind: httpURL, defText: "required for http",
		doc: "The URL that events are posted to; behind its host a template: `{key}`, `{row.<column>}`, `{op}`, `{event_type}` and others ([http.md](http.md#url)). Its query is not shown anywhere."},
	{name: "timeout", kind: kind.Durations("10ms", "10m", "30s"), def: "30s",
		doc: "The longest time that one request may take."},
	{name: "headers__<Name>", kind: headerValue, member: headerName,
		doc: "A header of each request; `_` stands for `-` in its name: `headers__X_Api_Key`. A secret."},
	{name: "method", kind: kind.OneOf("POST", "PUT", "PATCH", "DELETE"), defText: "`POST`",
		doc: "The method of requests. A DELETE has no body: its URL needs `{key}`."},
	{name: "methods__<op>", kind: kind.OneOf("POST", "PUT", "PATCH", "DELETE"), member: operationName, defText: "`method`",
		doc: "The method for one operation (`upsert`, `insert`, `update`, `delete`): `methods__delete=DELETE`. Then a request carries one event."},
	{name: "rate", kind: requestRate, defText: "no limit",
		doc: "How many requests are sent at most, one after the other at even distances: `500/s`, `30/m`, `1000/h`. All requests of the output in one process share it. Waiting counts into `timeout`."},
	{name: "auth", kind: kind.OneOf("none", "entra", "oauth2"), defText: "`none`",
		doc: "Sends a bearer token: of Microsoft Entra, by an identity, or of an authorization server, by OAuth 2's client credentials ([http.md](http.md#token))."},
	{name: "auth_scope", kind: kind.Text("scope", "api://receiver/.default"), defText: "required for `auth=entra`",
		doc: "What the token is for: `api://receiver/.default`; for oauth2 scopes with spaces between them."},
	{name: "auth_token_url", kind: httpURL, defText: "required for `auth=oauth2`",
		doc: "Where the authorization server gives tokens."},
	{name: "auth_tenant_id", kind: kind.Text("a tenant", "11111111-2222-3333-4444-555555555555"),
		doc: "For `auth=entra` with `auth_client_secret`: the tenant of the service principal."},
	{name: "auth_client_id", kind: kind.Text("an id", "11111111-2222-3333-4444-555555555555"),
		defText: "oauth2: required; entra: the default chain of credentials",
		doc:     "Who asks for the token. For entra without `auth_client_secret` it is a user-assigned managed identity."},
	{name: "auth_client_secret", kind: secretText, defText: "required for `auth=oauth2`",
		doc: "The secret of `auth_client_id`. A secret."},
	{name: "client_certificate", kind: secretText,
		doc: "For HTTP and Kafka: PEM of a client certificate, its chain and its private key; from a file by `…_FILE`. A secret."},
	{name: "secret", kind: signingSecret,
		doc: "Signs each request by Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes. A secret."},
	{name: "gzip", kind: kind.Flag, def: "false",
		doc: "Compress request bodies."},
	{name: "several_per_key", kind: kind.Flag, def: "false",
		doc: "A request may carry several events of one order key, in order: for a receiver that takes a request as a whole, or names in `batchItemFailures` the first event of each key that it did not take ([what comes again](duplicates.md#several-events-of-a-key-in-a-request))."},
	{name: "connection", kind: connectionName, defText: "required for queue and brokers",
		doc: "The setting that holds the connection of the queue or broker: see [Connections](#connections)."},
	{name: "queue", kind: queueName, defText: "the poller's name",
		doc: "The queue's name, for `kind=queue`."},
	{name: "destination", kind: kind.Text("template", "{aggregate_type}.events"), def: "{poller}",
		defIn: map[mode.Mode]string{mode.Outbox: "{aggregate_type}.events"},
		doc:   "For brokers: where an event goes (an exchange and routing key, a topic, an event hub, a queue), as text with `{app}`, `{poller}`, `{op}` and, in outbox mode, `{aggregate_type}`, `{aggregate_id}`, `{event_type}`; `{{` and `}}` are braces. The text around the placeholders is as you write it."},
	{name: "destination_case", kind: kind.OneOf("lower", "keep"), def: "lower",
		doc: "For brokers: whether the values of a destination's placeholders are written in lower case (`Order` goes to `order.events`) or kept as they are, as Debezium's router does."},
	{name: "destinations__<event_type>", kind: kind.Text("template", "payments"), modes: inOutbox,
		doc: "For brokers: the destination of one type of event: `destinations__OrderPlaced`. The type is compared without case. Where a name cannot hold a character of it (a dot, a hyphen), write `_`."},
	{name: "format", kind: kind.OneOf("cloudevents", "rowchange", "sqltrigger", "row", "payload", "cloudevents_binary"),
		defText: "`cloudevents`; outbox to brokers: `payload`",
		doc:     "The wire format of events ([formats.md](formats.md)). `payload`, in outbox mode only, is the event's payload as it is: the default to brokers there; everything else about the event is in the message's headers. `cloudevents_binary`, for http only, sends one event in a request, its attributes as headers."},
	{name: "type", kind: eventType, defText: "`rowrelay.row.<op>`; outbox: the event's own",
		doc: "For the formats of CloudEvents: the `type` of events. `{op}` stands for what happened to the row, in outbox mode `{event_type}` for what the event's writer said. Without `{op}` a receiver cannot tell a delete by the type."},
	{name: "source", kind: eventSource, defText: "`/<app>/<poller>`",
		doc: "For the formats of CloudEvents: the `source` of events, a URI or a part of one."},
	{name: "batch", kind: kind.Whole(1, 10_000, "100"), def: "100", defText: "`100`; `1` with `cloudevents_binary`, a template in `url`, and `methods__…`",
		doc: "How many events one request carries at most."},
	{name: "batch_bytes", kind: kind.Sizes("100MiB", "1MiB"), def: "1MiB",
		doc: "How many bytes one request has at most."},
	{name: "max_message_bytes", kind: kind.Sizes("90MiB", "4MiB"), def: "1000000",
		doc: "For `kind=kafka`: how many bytes one event takes at most, with its key and headers. Above the default, brokers (`message.max.bytes`) and topics (`max.message.bytes`) have to take as much."},
	{name: "retries", kind: kind.Whole(1, 20, "3"), def: "3",
		doc: "How often one request is tried in a tick, with a growing wait in between, before its events are tried one by one."},
	{name: "reject_status", kind: kind.Statuses, def: "400,413,422",
		doc: "HTTP statuses that are taken to be about the event: a request is not repeated as it is, its events are tried one by one at once, and in a quiet table an attempt counts although no other event shows whose fault it is ([failures.md](failures.md#whose-fault-a-failure-is))."},
}
