// Package sqlstore keeps state documents in one table of a database (state__kind=sql): PostgreSQL, MySQL, MariaDB, SQL
// Server or SQLite. It may be the database of a source.
//
// A row holds a document, or a part of a large side object: MySQL bounds what one statement carries. A version is drawn
// by whoever writes, and a write is one statement under the condition that the version is still the stored one. The
// clock is the database's.
//
// With asynchronous replicas a failover may bring an older document back, as a restored backup does: rows are delivered
// again, none are lost.
package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/state"
)

// DefaultTable is the table's name where none is given.
const DefaultTable = "rowrelay_state"

const (
	// longestName is what a name may take, in characters: SQL Server bounds a primary key to 900 bytes.
	longestName = 440
	// partSize is what one row holds, below the 16 MiB that MariaDB takes in one statement by default.
	partSize = 4 << 20
	// connections is how many the store uses at most.
	connections = 4
	// writes is how often a write is done at most where each ends in a deadlock.
	writes = 10
)

// Config says where the documents are.
type Config struct {
	Connection engine.Connection
	// Table is its name as settings write it, with a schema or without (state__table).
	Table string
	// Create makes the table when it is missing (state__create=true).
	Create bool
}

// Store is a [state.Store] in a table.
type Store struct {
	texts
	table   statement.Name
	dialect engine.Dialect
	db      *sql.DB
	create  bool
}

// New returns a Store, which its owner closes. It does not connect.
func New(cfg Config) (*Store, error) {
	t, table, err := named(cfg.Connection.Engine, cfg.Table)
	if err != nil {
		return nil, err
	}
	return &Store{texts: t, table: table, dialect: cfg.Connection.Dialect, create: cfg.Create,
		db: cfg.Connection.WriteDB(connections)}, nil
}

func named(engineName, table string) (texts, statement.Name, error) {
	t, ok := textsOf[engineName]
	if !ok {
		return t, statement.Name{}, fmt.Errorf("no state store on engine %q", engineName)
	}
	parts, err := engine.SplitName(table)
	if err != nil {
		return t, statement.Name{}, fmt.Errorf("state__table %q is not the name of a table: %w", table, err)
	}
	return t, statement.NewName(t.syntax, parts...), nil
}

// DDL is the statement that makes the table on an engine, where it is not there yet.
func DDL(engineName, table string) (string, error) {
	t, name, err := named(engineName, table)
	if err != nil {
		return "", err
	}
	return t.create(name), nil
}

// Init runs DDL.
func (s *Store) Init(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, s.texts.create(s.table))
	return s.explain("creating the table of state documents", err)
}

// Writable reports that the database takes no writes. It changes nothing: its statement deletes no row.
func (s *Store) Writable(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM "+s.table.String()+" WHERE 1 = 0")
	if err == nil || engine.Classify(s.dialect, err) != engine.FaultReadOnly {
		return nil
	}
	return s.explain("writing state documents", err)
}

// Close closes the connections.
func (s *Store) Close() error { return s.db.Close() }

// Margin implements [state.Store]. Every instance reads one server's clock, which may be set, and is another one's
// after a failover.
func (*Store) Margin(ttl time.Duration) time.Duration { return ttl / 5 }

// clock is the server's clock in milliseconds since 1970.
func (s *Store) clock() string { return s.syntax.Age("'1970-01-01 00:00:00'") }

// where begins a statement about the rows of a document.
func (s *Store) where(key string, before ...string) *statement.Statement {
	st := statement.New(s.syntax).Add(before...)
	return st.Add(" WHERE name = ", st.Arg(key))
}

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, key string) (state.Stored, error) {
	var loaded state.Stored
	var all, n, now int64
	st := s.where(key, "SELECT parts, version, data, ", s.clock(), " FROM ", s.table.String()).Add(" ORDER BY part")
	err := st.Each(ctx, s.db, func(scan func(...any) error) (bool, error) {
		var data []byte
		if err := scan(&all, &loaded.Version, &data, &now); err != nil {
			return false, err
		}
		loaded.Data = append(loaded.Data, data...)
		n++
		return true, nil
	})
	switch {
	case err != nil && s.unmade(err):
		return state.Stored{}, state.ErrNotFound
	case err != nil:
		return state.Stored{}, s.explain("reading a state document", err)
	case n == 0:
		return state.Stored{}, state.ErrNotFound
	case n != all: // SQL Server reads what is committed by and by
		return state.Stored{}, errors.New("reading a state document: it was changed meanwhile")
	}
	loaded.Now = time.UnixMilli(now)
	return loaded, nil
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	if len(key) > longestName {
		return state.Stamp{}, &state.PermanentError{
			Err: fmt.Errorf("the name %.100s… is longer than %d bytes", key, longestName),
		}
	}
	var stamp state.Stamp
	put := func() (err error) {
		stamp, err = s.put(ctx, key, data)
		return err
	}
	err := s.again(put)
	if err != nil && s.unmade(err) {
		// Another may make it at the same time, which not every engine takes for a success.
		_, failed := s.db.ExecContext(ctx, s.texts.create(s.table))
		if err = s.again(put); err != nil && s.unmade(err) {
			err = failed
		}
	}
	return stamp, s.explain("creating a state document", err)
}

// again does a write again that the server ended as one side of a deadlock, which undoes all of it. On MySQL even two
// inserts of one row meet in one, where a third writer deletes it.
func (s *Store) again(write func() error) error {
	for try := 1; ; try++ {
		err := write()
		if err == nil || try == writes || s.deadlock == nil || !s.deadlock(err) {
			return err
		}
	}
}

// execAgain is [statement.Statement.Exec] of a write, by the same rule.
func (s *Store) execAgain(ctx context.Context, st *statement.Statement) (n int64, err error) {
	err = s.again(func() (err error) {
		n, err = st.Exec(ctx, s.db)
		return err
	})
	return n, err
}

// put writes a document that is not there, in as many rows as it takes.
func (s *Store) put(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	version := state.Version(rand.Text())
	parts := max(1, (len(data)+partSize-1)/partSize)
	if parts == 1 {
		if err := s.insert(ctx, s.db, key, 0, 1, version, data); err != nil {
			return state.Stamp{}, err
		}
		return s.stamp(ctx, version)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return state.Stamp{}, err
	}
	for part := 0; err == nil && part < parts; part++ {
		err = s.insert(ctx, tx, key, part, parts, version, data[part*partSize:min((part+1)*partSize, len(data))])
	}
	if err != nil {
		_ = tx.Rollback() // what failed is told; the connection is dropped where even this fails
		return state.Stamp{}, err
	}
	if err := tx.Commit(); err != nil {
		return state.Stamp{}, err
	}
	return s.stamp(ctx, version)
}

func (s *Store) insert(ctx context.Context, q statement.Querier, key string, part, parts int, version state.Version,
	data []byte) error {
	st := statement.New(s.syntax)
	st.Add(s.texts.insert(s.table.String(), []string{
		st.Arg(key), st.Arg(part), st.Arg(parts), st.Arg(string(version)), st.Arg(append([]byte{}, data...)), // nil is NULL
	}))
	return one(st.Exec(ctx, q))
}

// Replace implements [state.Store]. Only documents are replaced, which are small: a side object never is.
func (s *Store) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	if len(data) > partSize {
		return state.Stamp{}, &state.PermanentError{Err: fmt.Errorf("%s cannot become larger than %d bytes", key, partSize)}
	}
	next := state.Version(rand.Text())
	st := statement.New(s.syntax)
	st.Add("UPDATE ", s.table.String(), " SET version = ", st.Arg(string(next)), ", data = ",
		st.Arg(append([]byte{}, data...)), " WHERE name = ", st.Arg(key), " AND part = 0 AND parts = 1 AND version = ",
		st.Arg(string(version)))
	if err := one(s.execAgain(ctx, st)); err != nil {
		return state.Stamp{}, s.explain("writing a state document", s.conflictIfUnmade(err))
	}
	stamp, err := s.stamp(ctx, next)
	return stamp, s.explain("writing a state document", err)
}

// Delete implements [state.Store].
func (s *Store) Delete(ctx context.Context, key string, version state.Version) error {
	st := s.where(key, "DELETE FROM ", s.table.String())
	n, err := s.execAgain(ctx, st.Add(" AND version = ", st.Arg(string(version))))
	if err == nil && n == 0 {
		return state.ErrConflict
	}
	return s.explain("deleting a state document", s.conflictIfUnmade(err))
}

// List implements [state.Store].
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	st := statement.New(s.syntax).Add("SELECT name FROM ", s.table.String(), " WHERE part = 0")
	if last := len(prefix) - 1; last >= 0 {
		st.Add(" AND name >= ", st.Arg(prefix))
		if prefix[last] < 0x7f {
			st.Add(" AND name < ", st.Arg(prefix[:last]+string(prefix[last]+1)))
		}
	}
	found, err := st.Texts(ctx, s.db)
	if err != nil && !s.unmade(err) {
		return nil, s.explain("listing state documents", err)
	}
	keys := slices.DeleteFunc(found, func(key string) bool { return !strings.HasPrefix(key, prefix) })
	slices.Sort(keys)
	return keys, nil
}

// stamp reads the clock after a write.
func (s *Store) stamp(ctx context.Context, version state.Version) (state.Stamp, error) {
	var now int64
	err := statement.New(s.syntax).Add("SELECT ", s.clock()).Row(ctx, s.db, &now)
	return state.Stamp{Version: version, Now: time.UnixMilli(now)}, err
}

// one is a conflict unless a statement has changed one row.
func one(n int64, err error) error {
	if err == nil && n != 1 {
		return state.ErrConflict
	}
	return err
}

// unmade says that the table is missing, and is yet to be made: it holds nothing.
func (s *Store) unmade(err error) bool {
	return s.create && engine.Classify(s.dialect, err) == engine.FaultSchema
}

func (s *Store) conflictIfUnmade(err error) error {
	if err != nil && s.unmade(err) {
		return state.ErrConflict
	}
	return err
}

// explain says what was tried, and how it is mended where an operator has to see to it.
func (s *Store) explain(doing string, err error) error {
	if err == nil || errors.Is(err, state.ErrConflict) {
		return err
	}
	permanent := func(mend string) error {
		return &state.PermanentError{Err: fmt.Errorf("%s: %w: %s", doing, err, mend)}
	}
	switch engine.Classify(s.dialect, err) {
	case engine.FaultSchema:
		return permanent("the table " + s.table.String() + " does not exist, or has other columns: create it with " +
			"`rowrelay state init --apply`, or set state__create=true")
	case engine.FaultDenied:
		return permanent("grant SELECT, INSERT, UPDATE and DELETE on " + s.table.String())
	case engine.FaultLogin, engine.FaultMissing:
		return permanent("check the setting that state__connection names")
	case engine.FaultReadOnly: // it may heal: a failover is under way
		engine.Leave(s.db)
		return fmt.Errorf("%s: %s state__connection names: %w", doing, engine.AskWritable, err)
	case engine.FaultUnresolved, engine.FaultConnect:
		return fmt.Errorf("%s: %w: check host, port and firewall, and the setting that state__connection names", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
