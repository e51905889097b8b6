package engine

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// LeaseTables names the tables through which instances share the changes of one table by leases on its rows: those of
// the Azure SQL trigger binding (state and leases), and one of our own beside each.
type LeaseTables struct {
	// Changes is the table whose changes are shared, Key its key with its types.
	Changes *ChangeTable
	Key     []KeyColumn
	// Function is the binding's id of the function: 16 hexadecimal digits.
	Function string
	// Leases is the leases table's own name, unquoted.
	Leases string
	// Legacy is the id that the function had before, LegacyLeases the table of its leases; "" for none.
	Legacy, LegacyLeases string
	// Lock is the resource that every transaction on these tables locks.
	Lock string
	// Latest says that a function that is not known yet begins with what is written from now on.
	Latest bool
}

// KeyColumn is a column of a key: its declared type, and its collation where it is text.
type KeyColumn struct{ Name, Type, Collation string }

// Own is the table of our own beside the leases: who holds them, and what failed.
func (t *LeaseTables) Own() string { return t.Leases + "_rowrelay" }

// The columns of our own table, beside the key's, ChangeVersion and ChangeCreated.
const (
	// LeasePlace numbers the rows of a batch from 1, in order. LeaseAttempts counts the attempts that were held against
	// this version of the row.
	LeasePlace    = "rowrelay_place"
	LeaseAttempts = "rowrelay_attempts"
	// LeaseKey is, in the rows of Leasing.Binding, the key and the version as LeaseMark.Key takes them back.
	LeaseKey = "rowrelay_key"
)

// Leasing is the texts of a Tracking whose changes several instances share. Each is one round trip and one transaction
// under LeaseTables.Lock; their parameters are named.
type Leasing struct {
	// Lookup reads the number of the table, and Key.
	Lookup func(ctx context.Context, conn *sql.Conn, c *ChangeTable) (table int64, key []KeyColumn, err error)
	// Reserved are the names of columns that the table must not have: the leases table has them beside the key.
	Reserved []string
	// Faults says which rights are missing and what else stands in the way, each in a sentence with what to do. Nothing is
	// made.
	Faults func(ctx context.Context, conn *sql.Conn, t *LeaseTables) ([]string, error)
	// Make makes what is missing of the tables, and the function's state. Parameters: @wait. Told: see Told.
	Make func(t *LeaseTables) string
	// Before and After stand around the statement that reads Rows, as those of BuiltIn do. Before takes a batch: at most
	// @rows changes that nobody has processed and nobody holds, under leases for @ttl milliseconds, as batch @batch of
	// @token; 0 draws a token. A token is larger than every one drawn before. It looks for changes only if the engine has
	// come further than @read, or a lease has lapsed. @told comes out.
	Before, After func(t *LeaseTables) string
	// Rows stands for the change table: the rows of the batch, with LeasePlace and LeaseAttempts.
	Rows func(t *LeaseTables) string
	// Renew extends all leases of @token by @ttl; 0 has them lapse. Settle makes @marks durable, a JSON array of
	// LeaseMark, moves the function's state to before the first change that is not processed, and removes leases that are
	// needed no more.
	Renew, Settle func(t *LeaseTables) string
	// Show tells of the state; Reset moves it to @to (-1: as far as changes are retained; -2: to now) and forgets all
	// leases.
	Show, Reset func(t *LeaseTables) string
	// Dead lists the keys of dead letters, at most 100, for people, with version, attempts and reason.
	Dead func(t *LeaseTables) string
	// IsMissing reports whether an error says that one of the tables is not there, IsLocked that Lock was not free in
	// time.
	IsMissing, IsLocked func(error) bool
	// Binding is the same in the binding's own words. Before jumps over what is not retained any more. It takes @rows
	// changes and counts an attempt of each; of those that have used theirs up it brings what nobody was told of yet, as
	// rows whose LeaseAttempts are below 0. Rows have Key beside LeasePlace and LeaseAttempts. Renew and Settle name rows
	// by @marks, whoever holds them; there are no tokens. Settle has rows processed that are Done, and remembers that
	// people were told of those that are Dead. Nil in itself.
	Binding *Leasing
	// Key is the column LeaseKey of Binding's rows.
	Key Column
}

// LeaseMark says what became of the row at a place of a batch.
type LeaseMark struct {
	// Key is a LeaseKey, with Leasing.Binding; without it rows have Batch and Place.
	Key   string `json:"k,omitempty"`
	Batch int    `json:"b"`
	Place int    `json:"p"`
	// Done says that this version of the row is processed. Otherwise its lease lapses, and it comes again.
	Done bool `json:"d"`
	// Dead says that it was given up. Attempts and Reason are those held against it, Delay the milliseconds until it may
	// be taken again; 0: at once.
	Dead     bool   `json:"x"`
	Attempts int    `json:"a"`
	Delay    int64  `json:"w"`
	Reason   string `json:"r"`
}

// ListMarks is the parameter @marks.
func ListMarks(marks []LeaseMark) string {
	text, err := json.Marshal(marks)
	if err != nil {
		panic(err) // numbers and texts have a form
	}
	return string(text)
}

// LeaseTold is what the texts of Leasing tell, as JSON.
type LeaseTold struct {
	// Head is how far the engine has come, From the version up to which all is processed, Valid the lowest version that
	// changes are complete from.
	Head, From, Valid int64
	Known             bool  // the function has a state
	Token             int64 // of the batch
	Looked            bool  // changes were looked for
	// Foreign counts live leases that somebody else than this program took, until Until.
	Foreign int
	Until   string
	// Held is how many leases were held: taken, renewed, or settled. Asked is how many there should have been of those
	// settled.
	Held, Asked int
	Made        bool // the leases table was missing
	// Missed is how many versions Leasing.Binding jumped over, Dropped how many rows have used their attempts up.
	Missed  int64
	Dropped int
	// Waiting counts unprocessed changes, Leased live leases, Parked the rows that failed and are tried again, Gone dead
	// letters.
	Waiting              int64
	Leased, Parked, Gone int
}

// ParseLeaseTold reads what a text told.
func ParseLeaseTold(text string) (t LeaseTold, err error) {
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, fmt.Errorf("read what the server told of leases: %w", err)
	}
	return t, nil
}
