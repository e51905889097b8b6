// Package clock waits, and holds deadlines, in a process that may be suspended or frozen.
//
// A [Deadline] is a right to act that ends at a moment. Whoever holds a lease or claims asks [Deadline.Check] before
// each request and gives [Deadline.Context] to it; each renewal is an [Deadline.Extend].
//
// A machine that is suspended stops its monotonic clock and its timers; its wall clock goes on. A person, or a time
// server, may set the wall clock back. So a deadline has passed as soon as either clock has reached it.
package clock
