// Package state keeps the two facts that a polling trigger lives by, in one document: how far the source has been
// delivered (the checkpoint) and who may deliver now (the lease). Every change is one conditional write of that
// document, so that there is no moment between "I still hold the lease" and "the checkpoint moved".
//
// # Use
//
//	k, err := state.New(state.Config{Store: s, Key: state.Key("shop", "orders", ""), Poller: "orders", Owner: "shop/host-1", TTL: time.Minute})
//	snap, err := k.Load(ctx)               // one read; ErrNotFound: k.Create
//	rows := fetch(snap.Doc.Checkpoint.Cursor)
//	lease, err := k.Acquire(ctx, snap)     // one write, on the very version that was read: the rows are valid if it wins
//	deliver(lease.Context(), rows)         // asking lease.Check() before each request
//	err = lease.Commit(ctx, state.Commit{From: from, To: to, BatchID: id, Rows: n, Release: true}) // ctx: a deadline only
//
// # The lease
//
// An acquisition draws a random lease_id and adds one to the fencing token, which is never reset. One goroutine for
// each lease owns the document: the heartbeat (a third of the ttl), commits and the release are requests to it, and
// those that wait while a write is under way travel together in the next one.
//
// A conditional write that failed, for whatever reason, is read back before anything is believed: a store may have done
// what it reported as failed, may do it later, and a client library may repeat a write and report its own success as a
// conflict. Each write carries (lease_id, write_seq), and a request that was part of write n is part of every later
// write until it is answered: so a stored write_seq of n or more proves that it is done.
//
//	what is stored                      acquisition               commit, heartbeat, release
//	our lease_id, our write_seq         acquired                  done
//	our lease_id, an older write_seq    –                         rebase on what is stored, write again
//	the very version we wrote upon      not yet: write again      not yet: write again
//	another's lease_id, owned           HeldError                 ErrLost
//	another version, no owner           MovedError: adopt it      ErrLost
//
// What is found under another's lease_id is judged by that lease's previous_lease_id and previous_write_seq, if they
// are ours.
//
// # Side objects, and operators
//
// What would make the document large (parked events, the memory of late commits) is in immutable objects:
// [Lease.PutObject] writes one, a [Commit] names it, [Lease.Collect] deletes what no commit names any more. Operators
// change a document at rest with [Keeper.Edit], objects under a lease like everybody, and pause, backfill and skips
// beside a holder with [Keeper.Amend]; the holder sees what they wrote in [Lease.Known] after its next write.
//
// # Time
//
// Others judge expiry by the store's clock, as its answers show it, and wait for a grace of min(ttl/2, 5 s) beyond
// expires_at; a released lease is free at once. The holder trusts only its own time since before it sent the request,
// and gives up a margin ([Store.Margin]) earlier. [Lease.Check], and a timer every second, look at the monotonic clock
// and at the wall clock, because a suspended machine stops the former. Once a write with a release has been sent, the
// right to deliver has ended, whatever becomes of the write: it may land unheard, and another may take the lease at
// once.
//
// A store that does not answer is a fault like any other, and a [SilentError] says so. Callers of Commit bring the
// deadline up to which they wait; the write goes on without them ([UnknownError]).
package state
