package engine

// Counter is what an engine counts a column up by: an identity, AUTO_INCREMENT, a sequence, the database's rowversion.
type Counter struct {
	// Name is the counter for people.
	Name string
	// Highest is the highest value that the counter can have given out, in digits; "" where there is no such counter,
	// where this user may not see it, or where it does not only go up.
	Highest string
	// Loose says that a higher value that is written explicitly does not raise the counter.
	Loose bool
}
