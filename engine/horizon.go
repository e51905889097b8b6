package engine

import "time"

// Horizon is the database's clock, and what of its open transactions this user is shown.
type Horizon struct {
	// Now is the database's clock.
	Now time.Time
	// Shown says that the server shows open write transactions of all sessions to this user.
	Shown bool
	// Oldest is when the oldest open write transaction began; zero where there is none, or where it is not shown.
	Oldest time.Time
	// Replayed is when the newest transaction was committed that a replica has replayed: what was committed later is not
	// seen yet, however late it is by the clock. Zero on a primary, and where it is not known.
	Replayed time.Time
	// By names its session for people: "pid 4711 (app importer, user batch)"; "" where there is none.
	By string
}

// SessionOf names a session of the database for people: "pid 4711 (app importer, user batch, host 10.0.0.5)". It never
// holds the text of a statement, which may hold values. Empty parts are left out.
func SessionOf(id string, named ...[2]string) string {
	text, glue := id, " ("
	for _, part := range named {
		if part[1] != "" {
			text += glue + part[0] + " " + part[1]
			glue = ", "
		}
	}
	if glue == ", " {
		text += ")"
	}
	return text
}
