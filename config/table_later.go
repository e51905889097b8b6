package config

// laterPollerSettings are known, so that nobody takes them for mistakes, but no poller of this version reads them.
var laterPollerSettings = []setting{
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
	{name: "destination", later: outbox, doc: "The topic, exchange or queue as a template."},
	{name: "destinations__<event_type>", later: outbox, doc: "A destination for one type of event."},
}
