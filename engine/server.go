package engine

// Server is what is true of the server and its database as long as one physical connection lives.
type Server struct {
	// Version is the engine's version for people: "PostgreSQL 15.8", "Microsoft SQL Azure (RTM) 12.0.2000.8".
	Version string
	// Incarnation tells a database from what it was before a restore or a failover. "" where unknown.
	Incarnation string
	// Table identifies the table itself, where a new one of the same name has another identity; "" where that is not
	// known with every page.
	Table string
	// ReadOnly says that the server is a readable secondary, a standby or a replica: it does not know which transactions
	// are open.
	ReadOnly bool
	// Locking says that reads wait for the rows that an open transaction has written, instead of reading the versions
	// before.
	Locking bool
	// Writers are the server's transactions, as the last statement met them; the zero value where it does not tell.
	Writers Writers
	// Warnings are for the operator.
	Warnings []string
}
