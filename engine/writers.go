package engine

// Writers says how far a server's numbering of transactions has come. It tells them apart within one incarnation.
type Writers struct {
	// Next is above every transaction that had ended when the statement began. 0 says that nothing is known.
	Next uint64
	// Ended is such that every transaction below it had ended for good before the statement read its rows: no crash of the
	// server takes that back, or gives the number again. 0 where that is not known.
	Ended uint64
}

// Of is the whole number of a transaction of which a row tells the lowest 32 bits, or a higher one: rows keep theirs
// for ever, and one that is older than half of a cycle cannot be told from a new one. It is 0 for what is no number.
func (w Writers) Of(low uint32) uint64 {
	if w.Next == 0 || low < firstWriter {
		return 0
	}
	n := int64(w.Next) + int64(int32(low-uint32(w.Next))) //nolint:gosec // in a circle of 32 bits
	if n < firstWriter {
		n += 1 << 32 // only a row of the first half of a cycle
	}
	return uint64(n)
}

// May reports whether rows can be held against a number in the circle of 32 bits.
func (w Writers) May(since uint64) bool { return since <= w.Next && w.Next-since < 1<<30 }

// firstWriter is the first number that a transaction can have.
const firstWriter = 3
