// Package publisher is the polling publisher of a transactional outbox: a [poller.Feed] whose position is the
// state of the outbox's own rows, and whose authority are claims in a table beside it. The tick, its lanes and its failure
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
// aggregate become WAITING when they are first met, so that they leave the index of pending ones, and PENDING again, by seq
// and some thousands in a transaction, when the failed one is settled. Events of one aggregate are published by seq.
//
// # Claims
//
// Who may publish what is a row of the claims table: (outbox, unit, owner, token, expires_at), by the database's clock. The
// unit is the whole table (leader), a partition, that is a range of buckets (partitioned), or an aggregate (skip_locked).
// Every session has an owner name of its own, and a fencing token that is larger than every token drawn for this outbox
// before. Marks are refused unless the session's claims hold.
//
// # What a crash means
//
// Between the broker's confirmation and the mark: the event is published again, with the same idempotency key. Anywhere
// else: nothing, but that others wait until the claims have expired.
//
// # The two layers
//
// Session (feed.go, session*.go, units*.go) decides; table (sql*.go) is one method for each statement or short transaction,
// over a dialect for each engine. Admin (admin*.go), Cleanup and the DDL of `rowrelay outbox init` stand on the same dialects.
package publisher
