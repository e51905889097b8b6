package config

// laterPollerSettings are known, so that nobody takes them for mistakes, but no poller of this version reads them.
var laterPollerSettings = []setting{
	{name: "source__late_commits", later: nothingLost, doc: "How rows that commit late are found."},
	{name: "source__late_window", later: nothingLost, doc: "The window of overlap or settle."},
	{name: "source__late_limit", later: nothingLost, doc: "How long a long transaction may hold output back."},
	{name: "source__late_memory", later: nothingLost, doc: "The bound of the set of delivered rows."},
	{name: "source__on_failover", later: nothingLost, doc: "Whether a changed timeline or server stops the poller."},
	{name: "source__on_long_transaction", later: nothingLost, doc: "What a long transaction causes."},
	{name: "max_attempts", later: nothingLost, doc: "Attempts before an event is dead-lettered."},
	{name: "retry_delays", later: nothingLost, doc: "The delays between them."},
	{name: "max_parked", later: nothingLost, doc: "The most events that are parked."},
	{name: "after_dead_letter", later: nothingLost, doc: "Whether what follows a dead-lettered event goes on."},
	{name: "dead_letter__kind", later: nothingLost, doc: "Where dead letters go."},
	{name: "dead_letter__connection", later: nothingLost, doc: "The connection of the dead-letter queue."},
	{name: "dead_letter__queue", later: nothingLost, doc: "The dead-letter queue."},
	{name: "poll_interval_max", later: outbox, doc: "The longest interval while idle."},
	{name: "source__strategy", later: outbox, doc: "How instances share an outbox."},
	{name: "source__partitions", later: outbox, doc: "The number of partitions."},
	{name: "source__claim_ttl", later: outbox, doc: "How long a claim holds."},
	{name: "source__map__<role>", later: outbox, doc: "Maps the columns of an existing outbox table."},
	{name: "source__claims_table", later: outbox, doc: "The table of claims."},
	{name: "source__cleanup_schedule", later: outbox, doc: "When published rows are removed."},
	{name: "source__fanout_connection", later: outbox, doc: "Scale-out under the host."},
	{name: "source__fanout_queue", later: outbox, doc: "Scale-out under the host."},
	{name: "source__retention", later: outbox, doc: "How long published rows are kept."},
	{name: "source__cleanup_chunk", later: outbox, doc: "Rows removed by one statement."},
}

// laterOutputSettings are the same for outputs.
var laterOutputSettings = []setting{
	{name: "reject_status", later: nothingLost, doc: "Answers that refuse an event at once."},
	{name: "destination", later: outbox, doc: "The topic, exchange or queue as a template."},
	{name: "destinations__<event_type>", later: outbox, doc: "A destination for one type of event."},
}
