// Package publisher opens an outbox, publishes it, and does with it what commands ask for.
//
// New makes a [Publisher]. Its Feed publishes: see package feed. Its other methods are the operators' side
// ([Operator]): about.go describes an outbox, admin.go lists and changes its events, cleanup.go deletes what was
// published long ago; ddl.go and find.go are for `rowrelay outbox init`.
//
// catalog.go finds out what a table is: one of `rowrelay outbox init` (own.go), or one of another framework (mapped.go,
// package mapping). Package rows reads and changes both. Package event holds the words that all of these share.
// engines.go joins them with what each engine writes differently: statement.go, claims.go, outbox.go and mapping.go in
// its folder under engine/.
package publisher
