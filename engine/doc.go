// Package engine holds what every mode needs of a database, whatever its engine: how statements are written, what a
// table and its columns are, how a value travels, what an error means, what may be known of the server and the login.
//
// An engine is a folder below this one. All have the same file names, so that a behaviour is found in each by one name:
//
//	syntax.go       how statements are written, and what people are told
//	dsn.go          connection strings, in each of their forms (SQL Server's are taken apart in sqlserver/target)
//	open.go         physical connections, where the driver needs help
//	transactions.go transactions that end in time, whatever becomes of the network or of us (PostgreSQL, MySQL)
//	prepare.go      a connection that was just opened: settings, and what is true for it
//	catalog.go      tables, views, queries and their columns
//	types.go        which type becomes what, by the one rule of docs/values.md
//	read.go         rows to JSON, and JSON back to arguments
//	errors.go       what the driver's errors mean
//	horizon.go      the clock, and the oldest open transaction
//	counter.go      what the engine counts a column up by
//	incarnation.go  a database told from what it was before a restore or a failover
//	rights.go       what the login may do
//	ddl.go          the column that makes a table readable exactly (PostgreSQL; SQL Server's is in syntax.go)
//	tracking.go     the triggers that keep a change table; what SQL Server tracks itself, and sqlserver/leases, which shares it
//
// Outboxes use statement.go (how statements are written), claims.go, outbox.go (a table of our own) and mapping.go (a
// table of others). A file that is not there is not needed on that engine.
//
// What an engine provides is a [Dialect]: about a dozen methods. Texts are no methods: [Syntax] holds them, so that
// whoever builds a statement needs nothing else.
//
// This package imports change only, and knows no engine. Package engines knows them all; dsn tells their connection
// strings apart; scalar reads the JSON of a stored value.
package engine
