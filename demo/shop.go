package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"
)

// timeLayout is how written_at is kept: text that sorts, the same in every engine.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Order is one write: an order that is new, or that has a new status.
type Order struct {
	ID, Version    int64
	Customer, Item string
	Quantity       int
	Status         string
}

// String is the order as the screen shows it.
func (o Order) String() string {
	return fmt.Sprintf("#%d  order %d %s", o.Version, o.ID, o.Status)
}

// Shop is a table of orders and its writer. It is safe for concurrent use: of two writers one waits, or fails and
// writes again.
type Shop struct {
	db  *sql.DB
	sql statements
}

// OpenFile opens, or creates, a SQLite database for writing.
func OpenFile(path string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	// A write transaction takes its lock at its beginning: two processes wait for each other instead of failing.
	name := "file://" + (&url.URL{Path: filepath.ToSlash(abs)}).EscapedPath() +
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

// NewShop returns the shop of a database of engine (sqlite, postgres, mysql or sqlserver). It does not connect.
func NewShop(db *sql.DB, engine string) (*Shop, error) {
	s, err := newStatements(engine)
	if err != nil {
		return nil, err
	}
	return &Shop{db: db, sql: s}, nil
}

// Table is the table's name.
func (s *Shop) Table() string { return s.sql.table }

// Create makes the table where there is none.
func (s *Shop) Create(ctx context.Context) error {
	if err := s.db.PingContext(ctx); err != nil {
		return fmt.Errorf("connect to the shop's database: %w", err)
	}
	for _, statement := range []string{s.sql.create, s.sql.index} {
		if statement == "" {
			continue
		}
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the table %s (the login must be allowed to create tables): %w", s.sql.table, err)
		}
	}
	return nil
}

// Drop removes the table.
func (s *Shop) Drop(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, s.sql.drop); err != nil {
		return fmt.Errorf("drop the table %s: %w", s.sql.table, err)
	}
	return nil
}

// Top returns the highest version, which is the number of writes so far, and the number of orders.
func (s *Shop) Top(ctx context.Context) (version, orders int64, err error) {
	err = s.db.QueryRowContext(ctx, s.sql.top).Scan(&version, &orders)
	if err != nil {
		err = fmt.Errorf("read the shop's last version: %w", err)
	}
	return version, orders, err
}

// Waiting counts the orders whose version is above version, and says when the first of them was written (the zero time
// where there is none).
func (s *Shop) Waiting(ctx context.Context, version int64) (n int64, oldest time.Time, err error) {
	var at string
	err = errors.Join(
		s.db.QueryRowContext(ctx, s.sql.waiting, version).Scan(&n),
		s.db.QueryRowContext(ctx, s.sql.oldest, version).Scan(&at),
	)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count the waiting orders: %w", err)
	}
	if at != "" {
		if oldest, err = time.Parse(timeLayout, at); err != nil {
			return 0, time.Time{}, fmt.Errorf("column written_at of table %s: %w", s.sql.table, err)
		}
	}
	return n, oldest, nil
}

// Write makes n writes in one transaction: two new orders, then one of an older order that is paid, and so on. Either
// all are there or none; where the commit's answer is lost, the next call sees by the table which.
//
// Version 3k pays order k, which was written 1.5k versions before: so hardly an order is written again before the relay
// has read it, whatever is killed in between.
func (s *Shop) Write(ctx context.Context, n int) ([]Order, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction in the shop: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	var version, last int64
	if err := tx.QueryRowContext(ctx, s.sql.top).Scan(&version, &last); err != nil {
		return nil, fmt.Errorf("read the shop's last version: %w", err)
	}
	written := make([]Order, 0, n)
	// With a call each twentieth of a second: the orders of more seconds than a dead relay's lease holds up its heir.
	recent := int64(60 * n)
	for range n {
		version++
		o := Order{ID: last + 1, Version: version}
		at := time.Now().UTC().Format(timeLayout)
		if k := version / 3; version%3 == 0 && k > recent {
			o.ID, o.Status = k, "paid"
			_, err = tx.ExecContext(ctx, s.sql.update, o.Status, at, o.Version, o.ID)
		} else {
			last++
			o.Customer, o.Item = customers[o.ID%int64(len(customers))], items[o.ID%int64(len(items))]
			o.Quantity, o.Status = int(o.ID%5)+1, "new"
			_, err = tx.ExecContext(ctx, s.sql.insert, o.ID, o.Customer, o.Item, o.Quantity, o.Status, at, o.Version)
		}
		if err != nil {
			return nil, fmt.Errorf("write an order: %w", err)
		}
		written = append(written, o)
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("commit orders: %w", err)
	}
	return written, nil
}

var (
	customers = []string{"Ada", "Grace", "Edsger", "Barbara", "Alan", "Frances", "Ken"}
	items     = []string{"tea", "coffee", "honey", "bread", "apples", "cheese", "walnuts", "figs"}
)

// Remove removes what the demo keeps in its directory, and returns what it was. The rest of the directory stays.
func Remove(dir string) (removed []string, err error) {
	for _, name := range []string{
		"state", "rowrelay.log", "shop.db", "shop.db-wal", "shop.db-shm", "receiver.db", "receiver.db-wal", "receiver.db-shm",
	} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return removed, fmt.Errorf("remove what the demo kept: %w", err)
		}
		removed = append(removed, path)
	}
	return removed, nil
}
