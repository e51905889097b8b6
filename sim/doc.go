// Package sim is a deterministic simulation of Rowrelay: the product's own relay, feed and keeper run as several
// instances over one simulated state store, one simulated table, one receiver and one place for dead letters, all of
// which fail in every way that the seed of a run decides. After every step the promises are checked. Nothing imports
// this package, and everything in it is a test; docs/simulation.md is its manual, and tells the promises.
//
// synctest gives time but no order. So every call that leaves an instance waits at a gate (see ask), and the scheduler,
// the test's own goroutine, releases one call after each synctest.Wait: whatever a call does to the world is done by
// that goroutine. Random numbers that the product draws come from the seed too: crypto/rand by testing/cryptotest,
// math/rand/v2 by a replacement of its one source line, which the runner applies with go test -overlay.
package sim
