// Package outbox writes events into a transactional outbox, in the transaction of the change that they tell of
// (docs/outbox.md): either both are there, or neither is. Rowrelay publishes them (`rowrelay outbox
// --help`).
//
//	w, err := outbox.NewWriter(outbox.Postgres, "outbox")
//	…
//	tx, err := db.BeginTx(ctx, nil)
//	… // the change itself
//	err = w.Write(ctx, tx, outbox.Event{
//		AggregateType: "Order", AggregateID: "42", Type: "OrderPlaced",
//		IdempotencyKey: "order-placed-42", Payload: payload,
//	})
//	… // tx.Commit()
//
// # Order
//
// Events of one aggregate are published in the order of their seq. That is the order of the transactions only if two of
// them never hold seqs of one aggregate at the same time: the one that drew the smaller seq might commit last. So Write
// locks the aggregate, until the transaction ends, before it inserts. Everybody who writes events of the same
// aggregates has to do the same, as the statements in docs/outbox-writing.md do for other languages.
//
// A transaction that writes events of several aggregates in one call locks them in a fixed order. One that calls Write
// several times can meet another that does so in the opposite order; the database then ends one of them as a deadlock,
// and it is to be repeated, like every transaction.
//
// The package depends on the standard library only, and on no part of Rowrelay.
package outbox

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Engine is the database that the outbox lies in.
type Engine string

// The engines.
const (
	Postgres  Engine = "postgres"
	MySQL     Engine = "mysql" // and MariaDB
	SQLite    Engine = "sqlite"
	SQLServer Engine = "sqlserver"
)

// Event is one event to be published.
type Event struct {
	// AggregateType and AggregateID name what the event is about, "Order" and "42", and decide what it is kept in order
	// with. At most 255 characters each; like Type and IdempotencyKey valid UTF-8 without NUL. An event with an empty
	// AggregateID belongs to no aggregate: it waits for no other, and none for it.
	AggregateType, AggregateID string
	// Type names what happened: "OrderPlaced". At most 255 characters.
	Type string
	// IdempotencyKey is what receivers recognise a repetition by, unique among all events of the outbox:
	// "order-placed-42". Empty means a random one: enough against repetitions of the publisher, not against those of the
	// application.
	IdempotencyKey string
	// Payload is published as it stands; valid UTF-8, as a rule JSON.
	Payload []byte
	// TraceParent and TraceState are the W3C trace context that the event belongs to; "" for none. One that is too long
	// (255 and 1000 characters), or no text, is left out.
	TraceParent, TraceState string
	// AvailableAt is when the event may be published; zero: at once. Later events of its aggregate wait for it.
	// ExpiresAt is from when on it is not published any more; zero: never. Both lie in the years 1970 to 2037, and need
	// their columns: `rowrelay outbox init` adds them to a table of an earlier version.
	AvailableAt, ExpiresAt time.Time
}

// check returns an error that names the member at fault.
func (e *Event) check() error {
	for _, member := range []struct{ name, value string }{
		{"AggregateType", e.AggregateType}, {"Type", e.Type}, {"AggregateID", e.AggregateID},
	} {
		if member.value == "" && member.name != "AggregateID" {
			return fmt.Errorf("outbox: Event.%s is empty", member.name)
		}
		if err := plain(member.name, member.value); err != nil {
			return err
		}
	}
	for name, at := range map[string]time.Time{"AvailableAt": e.AvailableAt, "ExpiresAt": e.ExpiresAt} {
		if year := at.UTC().Year(); !at.IsZero() && (year < 1970 || year > 2037) {
			return fmt.Errorf("outbox: Event.%s is in %d: a timestamp holds the years 1970 to 2037", name, year)
		}
	}
	return plain("IdempotencyKey", e.IdempotencyKey)
}

// keeps returns an error where the engine would not store a payload as it stands. SQLite stores any bytes.
func (e Engine) keeps(payload []byte) error {
	switch {
	case e != SQLite && !utf8.Valid(payload): // MySQL stores question marks where its sql_mode is not strict
		return errors.New("outbox: Event.Payload is not valid UTF-8: write bytes as base64")
	case e == Postgres && slices.Contains(payload, 0):
		return errors.New("outbox: Event.Payload contains NUL, which PostgreSQL does not store")
	}
	return nil
}

// timed says that the event has a time.
func (e *Event) timed() bool { return !e.AvailableAt.IsZero() || !e.ExpiresAt.IsZero() }

// plain returns an error where a member is no text that every engine stores as it stands and the publisher finds again.
func plain(member, value string) error {
	switch {
	case !utf8.ValidString(value):
		return fmt.Errorf("outbox: Event.%s is not valid UTF-8", member)
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("outbox: Event.%s contains NUL", member)
	case utf8.RuneCountInString(value) > longest:
		return fmt.Errorf("outbox: Event.%s has more than %d characters", member, longest)
	}
	return nil
}

// What the columns of `rowrelay outbox init` hold, in characters.
const (
	longest      = 255
	longestState = 1000 // tracestate
)

// Tx is the transaction that events are written in: *sql.Tx, or a *sql.Conn on which one was begun. Outside of a
// transaction neither the promise of the outbox nor that of the order holds.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Writer writes into one outbox. It is safe for concurrent use.
type Writer struct {
	engine Engine
	insert string
	timed  string // insert of an event that has a time: older tables lack these columns
}

// tableName is a table's name, with its schema, in plain letters.
var tableName = regexp.MustCompile(`^[\pL_][\pL\pN_$]*(\.[\pL_][\pL\pN_$]*)?$`)

// NewWriter returns the writer of a table that `rowrelay outbox init` has made: "outbox", or "shop.outbox" with its
// schema.
func NewWriter(engine Engine, table string) (*Writer, error) {
	if !tableName.MatchString(table) {
		return nil, fmt.Errorf("outbox: %q is no name of a table: letters, digits and _, with a schema where needed", table)
	}
	if !slices.Contains([]Engine{Postgres, MySQL, SQLite, SQLServer}, engine) {
		return nil, fmt.Errorf("outbox: engine %q is not postgres, mysql, sqlite or sqlserver", engine)
	}
	columns := []string{"aggregate_type", "aggregate_id", "event_type", "payload", "idempotency_key", "traceparent",
		"tracestate"}
	var places []string
	for i := range columns {
		places = append(places, engine.place(i+1))
	}
	insert := func(columns, places []string) string {
		return "INSERT INTO " + engine.quote(table) + " (" + strings.Join(columns, ", ") + ") VALUES (" +
			strings.Join(places, ", ") + ")"
	}
	n := len(columns)
	return &Writer{engine: engine, insert: insert(columns, places),
		timed: insert(append(columns, "available_at", "expires_at"),
			append(places, engine.instantPlace(n+1), engine.instantPlace(n+2)))}, nil
}

// place is how the engine writes parameter n.
func (e Engine) place(n int) string {
	switch e {
	case Postgres:
		return fmt.Sprintf("$%d", n)
	case SQLServer:
		return fmt.Sprintf("@p%d", n)
	default:
		return "?"
	}
}

// instantPlace is place for what instant returns. MySQL takes the seconds since 1970: a time of day would be one of the
// session's zone.
func (e Engine) instantPlace(n int) string {
	if e == MySQL {
		return "FROM_UNIXTIME(CAST(? AS DECIMAL(20, 6)))"
	}
	return e.place(n)
}

// instant is a time as the engine takes it, NULL for the zero one.
func (e Engine) instant(at time.Time) any {
	at = at.UTC()
	text := at.Format("2006-01-02 15:04:05.000000")
	switch e {
	case Postgres:
		return sql.NullTime{Time: at, Valid: !at.IsZero()}
	case MySQL:
		text = fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
	}
	return sql.NullString{String: text, Valid: !at.IsZero()}
}

// quote writes a checked name as the engine quotes names.
func (e Engine) quote(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		switch e {
		case MySQL:
			parts[i] = "`" + part + "`"
		case SQLServer:
			parts[i] = "[" + part + "]"
		default:
			parts[i] = `"` + part + `"`
		}
	}
	return strings.Join(parts, ".")
}

// Write locks the events' aggregates and inserts the events, in their order. An error leaves the transaction to be
// rolled back.
func (w *Writer) Write(ctx context.Context, tx Tx, events ...Event) error {
	inserts, err := w.inserts(events)
	if err != nil {
		return err
	}
	if err := w.lock(ctx, tx, events); err != nil {
		return fmt.Errorf("outbox: lock the aggregate: %w", err)
	}
	for i, insert := range inserts {
		e := &events[i]
		if _, err := tx.ExecContext(ctx, insert.SQL, insert.Args...); err != nil {
			return fmt.Errorf("outbox: insert the event %s of %s %s: %w", e.Type, e.AggregateType, e.AggregateID, err)
		}
	}
	return nil
}

// Statement is one statement with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

// Statements returns what Write runs, for a driver of PostgreSQL that is not one of database/sql (package pgxoutbox).
// They are to be run in their order, in one transaction. The other engines have no such statements: their locks answer
// whether they were taken, or they need none.
func (w *Writer) Statements(events ...Event) ([]Statement, error) {
	if w.engine != Postgres {
		return nil, fmt.Errorf("outbox: an outbox on %s has no statements of its own: use Write", w.engine)
	}
	inserts, err := w.inserts(events)
	if err != nil {
		return nil, err
	}
	var all []Statement
	for _, a := range aggregatesOf(events) {
		all = append(all, Statement{lockPostgres, []any{a[0], a[1]}})
	}
	return append(all, inserts...), nil
}

// inserts checks the events, and returns a statement for each: the seqs of one statement with several rows need not be
// in their order on every engine.
func (w *Writer) inserts(events []Event) ([]Statement, error) {
	all := make([]Statement, len(events))
	for i := range events {
		e := &events[i]
		if err := e.check(); err != nil {
			return nil, err
		}
		if err := w.engine.keeps(e.Payload); err != nil {
			return nil, err
		}
		key := e.IdempotencyKey
		if key == "" {
			key = rand.Text()
		}
		all[i] = Statement{w.insert, []any{e.AggregateType, e.AggregateID, e.Type, string(e.Payload), key,
			fitting(e.TraceParent, longest), fitting(e.TraceState, longestState)}}
		if e.timed() {
			all[i] = Statement{w.timed, append(all[i].Args, w.engine.instant(e.AvailableAt), w.engine.instant(e.ExpiresAt))}
		}
	}
	return all, nil
}

// fitting is text as a nullable column takes it. What is too long, or no text, is left out: a trace context comes from
// outside, and must not be able to fail the transaction.
func fitting(s string, most int) sql.NullString {
	fits := s != "" && len(s) <= most && utf8.ValidString(s) && !strings.Contains(s, "\x00")
	return sql.NullString{String: s, Valid: fits}
}

// Why an aggregate is not locked.
var (
	errNotLocked = errors.New("another transaction has held it for 30 s")
	errNoSlots   = errors.New("the table rowrelay_locks lacks rows of 0 to 1023: `rowrelay outbox init --apply` adds them")
)
