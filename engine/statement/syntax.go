package statement

import "strconv"

// LimitOffset is limit for engines that have LIMIT.
func LimitOffset(n string, skip int) string {
	if skip == 0 {
		return " LIMIT " + n
	}
	return " LIMIT " + n + " OFFSET " + strconv.Itoa(skip)
}

// ForUpdate is the suffix of lock for engines that have FOR UPDATE. of names the table, as the engine writes it.
func ForUpdate(of string, skip bool) string {
	if skip {
		return " FOR UPDATE " + of + " SKIP LOCKED"
	}
	return " FOR UPDATE " + of
}

// Text is a field of text.
func Text(name string) Field { return Field{name, true} }

// Int is a field of integers.
func Int(name string) Field { return Field{name, false} }
