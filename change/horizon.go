package change

import "time"

// Horizon is what a database shows of its time and its open transactions.
type Horizon struct {
	// Now is the database's clock.
	Now time.Time
	// Shown says that the server shows open write transactions of all sessions to this user.
	Shown bool
	// Crowded says that they are not shown because others ask for them too often: no right is missing.
	Crowded bool
	// Elsewhere says that rows come from another server, by replication or a foreign table, which does not show here what
	// is open there.
	Elsewhere bool
	// Oldest is when the oldest open write transaction began; zero where there is none, or where it is not shown.
	Oldest time.Time
	// Replayed is when the newest transaction was committed that a replica has replayed: what was committed later is not
	// seen yet, however late it is by the clock. Zero on a primary, and where it is not known.
	Replayed time.Time
	// By names its session for people: "pid 4711 (app importer, user batch)"; "" where there is none.
	By string
}
