// Package publisher is the polling publisher of a transactional outbox: a [poller.Feed] whose position is the state
// of the outbox's own rows, and whose authority are claims in a table beside it. The tick, its lanes and its failure
// policy are those of package poller.
//
// # Events and their states
//
//	PENDING ──▶ (PUBLISHING) ──▶ PUBLISHED        PUBLISHING is written by the strategy skip_locked only
//	   │ ▲            │
//	   ▼ │            ▼
//	WAITING ◀───── FAILED ──▶ DEAD LETTER ──▶ DISCARDED (by an operator)
//
// An event that fails with evidence against it becomes FAILED, with the time of its next attempt; later events of its
// aggregate become WAITING when they are first met, so that they leave the index of pending ones, and PENDING again,
// by seq and some thousands in a transaction, when the failed one is settled. Events of one aggregate are published
// by seq.
//
// # Claims
//
// Who may publish what is a row of the claims table: see package claims. A session claims the whole table (leader),
// partitions, that is ranges of buckets (partitioned), or aggregates (skip_locked). Marks are refused unless its claims
// hold.
//
// # What a crash means
//
// Between the broker's confirmation and the mark: the event is published again, with the same idempotency key.
// Anywhere else: nothing, but that others wait until the claims have expired.
//
// # The rooms
//
// Session (feed.go, session*.go) decides what is fetched, sent and marked. claims says who may publish what. rows and
// mapping are the statements for a table of `rowrelay outbox init` and for one of another framework. event holds their
// common words. catalog.go finds out which of the two an outbox is. What engines write differently stands in their
// folders under engine/: statement.go, claims.go, outbox.go, mapping.go, tables.go. What commands do with an outbox is
// admin.go, cleanup.go and ddl.go.
package publisher
