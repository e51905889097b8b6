package change

// appendRow writes what an event of a table is about: its row, and where the source tells the row before the change,
// both.
func appendRow(dst []byte, e *Event) []byte {
	if e.Before == nil {
		return appendRaw(dst, e.Row)
	}
	dst = append(append(dst, `{"before":`...), e.Before...)
	return append(appendAfter(append(dst, `,"after":`...), e), '}')
}

// appendAfter writes the row after the change: null for a delete.
func appendAfter(dst []byte, e *Event) []byte {
	if e.Op == Delete {
		return append(dst, jsonNull...)
	}
	return appendRaw(dst, e.Row)
}

// rowBound is an upper bound of what appendRow writes, and of the two rows apart.
func rowBound(e *Event) int {
	n := max(len(e.Row), len(jsonNull))
	if e.Before != nil {
		n += len(`{"before":,"after":}`) + len(e.Before)
	}
	return n
}
