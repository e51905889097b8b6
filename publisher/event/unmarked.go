package event

import "fmt"

// UnmarkedError says that statements changed no row for some marks, although the rows are there and as they were: the
// database reports success. All other marks are durable.
type UnmarkedError struct{ Refs []Ref }

func (e *UnmarkedError) Error() string {
	return fmt.Sprintf("the database changed no row for the marks of %d event(s), the first with %s, and reported no "+
		"error: let the user of source__connection change these rows: a trigger that returns NULL keeps it from that, and "+
		"so does row security without a policy for UPDATE (with source__map__on_published=delete for DELETE)",
		len(e.Refs), e.Refs[0])
}
