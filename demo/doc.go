// Package demo is what `rowrelay demo` shows: a shop that writes orders into a real table, and a receiver that keeps
// what the relay posts to it. The relay between them is the real one, wired by cmd/rowrelay from settings as a user
// writes them; nothing here knows it but for the interface Relay.
//
//	Shop      a table of orders in SQLite, PostgreSQL, MySQL, MariaDB or SQL Server, and its writer
//	Receiver  an HTTP endpoint that keeps each (order, version) once in a SQLite file: an idempotent receiver
//	Compare   which versions of the shop the receiver does not hold: after a clean end there must be none
//	Run       one run of both with a relay between them: writes, draws, and compares in the end
//	View      all this at one moment, as a line, a block for a terminal, or JSON
//	Screen    draws views: in place on a terminal, elsewhere a line each
//
// Delivery is at-least-once: after a crash some events arrive a second time, and the receiver counts them as
// duplicates.
//
// The cursor is the column version. The writer takes it inside its transaction, as one more than the highest committed
// one, and the column is UNIQUE: version n+1 can only be written by somebody who has seen n committed. So versions
// become visible in their order, and no late commit can slip in before the position, with any number of writers.
package demo
