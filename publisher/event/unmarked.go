package event

import "fmt"

// UnmarkedError says that rows did not take their marks, although they are there and as they were: the database refused
// them by an error about the row, or reported success and changed nothing. All other marks are durable.
type UnmarkedError struct {
	Refs []Ref
	// Err is the last error about one of them; nil where the database reported none.
	Err error
	// Locked says that somebody else's transaction locks them.
	Locked bool
}

func (e *UnmarkedError) Error() string {
	if e.Locked {
		return fmt.Sprintf("another transaction locks the rows of %d event(s), the first with %s, and they were published "+
			"without their marks: end that transaction, and let none lock rows of the outbox for seconds: %v", len(e.Refs),
			e.Refs[0], e.Err)
	}
	if e.Err != nil {
		return fmt.Sprintf("the database refused the marks of %d event(s), the first with %s: let the table's constraints and "+
			"triggers allow what Rowrelay writes: %v", len(e.Refs), e.Refs[0], e.Err)
	}
	return fmt.Sprintf("the database changed no row for the marks of %d event(s), the first with %s, and reported no "+
		"error: let the user of source__connection change these rows: a trigger that returns NULL keeps it from that, and "+
		"so does row security without a policy for UPDATE (with source__map__on_published=delete for DELETE)",
		len(e.Refs), e.Refs[0])
}

// Unwrap returns the database's error.
func (e *UnmarkedError) Unwrap() error { return e.Err }

// OrNil is err, where there is one, and otherwise e, where rows are left.
func (e *UnmarkedError) OrNil(err error) error {
	if err != nil || len(e.Refs) == 0 {
		return err
	}
	return e
}
