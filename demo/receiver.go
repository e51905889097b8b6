package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

const receiverTables = `
CREATE TABLE IF NOT EXISTS received (
	id       INTEGER NOT NULL,
	version  INTEGER NOT NULL,
	event_id TEXT NOT NULL,
	status   TEXT NOT NULL,
	token    TEXT NOT NULL,
	at       TEXT NOT NULL,
	PRIMARY KEY (id, version)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS received_by_version ON received (version);
CREATE TABLE IF NOT EXISTS totals (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	events     INTEGER NOT NULL,
	duplicates INTEGER NOT NULL,
	inverted   INTEGER NOT NULL
);
INSERT INTO totals VALUES (1, 0, 0, 0) ON CONFLICT DO NOTHING;
`

// Receiver is an HTTP endpoint for CloudEvents batches. It keeps each (order, version), which is (key, cursor), once:
// a repetition changes nothing but a count. It answers 200 only after its own commit, so that what it has vouched for
// is still there after a kill -9.
type Receiver struct {
	db *sql.DB

	mu     sync.Mutex
	recent []Order
	lag    time.Duration
}

// Totals are the receiver's counts since its file was made.
type Totals struct {
	// Events counts every event of every request; Duplicates those that were there already; Inverted those that came
	// first after a later version of their order.
	Events, Duplicates, Inverted int64
}

// Kept is the number of different (order, version) received.
func (t Totals) Kept() int64 { return t.Events - t.Duplicates }

// OpenReceiver opens, or creates, the receiver's file.
func OpenReceiver(ctx context.Context, path string) (*Receiver, error) {
	db, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	// Reads come from the screen, and must see the counts beside a write.
	db.SetMaxOpenConns(4)
	if _, err := db.ExecContext(ctx, receiverTables); err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, fmt.Errorf("prepare the receiver's file %s: %w", path, err)
	}
	return &Receiver{db: db}, nil
}

// Close closes the file.
func (r *Receiver) Close() error { return r.db.Close() }

// arrival is what the receiver reads of a CloudEvent.
type arrival struct {
	ID   string `json:"id"`
	Data struct {
		ID        int64     `json:"id"`
		Version   int64     `json:"version"`
		Customer  string    `json:"customer"`
		Item      string    `json:"item"`
		Quantity  int       `json:"quantity"`
		Status    string    `json:"status"`
		WrittenAt time.Time `json:"written_at"`
	} `json:"data"`
}

// ServeHTTP takes one request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var arrivals []arrival
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 64<<20))
	if err == nil {
		err = json.Unmarshal(body, &arrivals)
	}
	if err != nil {
		http.Error(w, "not a batch of CloudEvents: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := r.keep(req.Context(), arrivals, req.Header.Get("Rowrelay-Fencing-Token")); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *Receiver) keep(ctx context.Context, arrivals []arrival, token string) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	now := time.Now().UTC()
	var duplicates, inverted int64
	for i := range arrivals {
		a := &arrivals[i]
		var newest int64
		if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM received WHERE id = ?",
			a.Data.ID).Scan(&newest); err != nil {
			return fmt.Errorf("look an order up: %w", err)
		}
		result, err := tx.ExecContext(ctx, "INSERT INTO received VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			a.Data.ID, a.Data.Version, a.ID, a.Data.Status, token, now.Format(timeLayout))
		if err != nil {
			return fmt.Errorf("keep an order: %w", err)
		}
		n, err := result.RowsAffected()
		switch {
		case err != nil:
			return fmt.Errorf("keep an order: %w", err)
		case n == 0:
			duplicates++
		case newest > a.Data.Version:
			inverted++
		}
	}
	if _, err := tx.ExecContext(ctx,
		"UPDATE totals SET events = events + ?, duplicates = duplicates + ?, inverted = inverted + ?",
		len(arrivals), duplicates, inverted); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	r.remember(arrivals, now)
	return nil
}

const remembered = 32

func (r *Receiver) remember(arrivals []arrival, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range arrivals {
		d := &arrivals[i].Data
		r.recent = append(r.recent, Order{d.ID, d.Version, d.Customer, d.Item, d.Quantity, d.Status})
		r.lag = now.Sub(d.WrittenAt)
	}
	if n := len(r.recent) - remembered; n > 0 {
		r.recent = slices.Delete(r.recent, 0, n)
	}
}

// Recent returns the last orders that arrived in this process, oldest first, and the age that the last one had then.
func (r *Receiver) Recent() ([]Order, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.recent), r.lag
}

// Totals reads the counts.
func (r *Receiver) Totals(ctx context.Context) (Totals, error) {
	var t Totals
	err := r.db.QueryRowContext(ctx, "SELECT events, duplicates, inverted FROM totals").Scan(&t.Events, &t.Duplicates,
		&t.Inverted)
	if err != nil {
		return t, fmt.Errorf("read the receiver's counts: %w", err)
	}
	return t, nil
}

// Beyond counts what has arrived of the versions above version: what a relay that goes on from there delivers again.
func (r *Receiver) Beyond(ctx context.Context, version int64) (n int64, err error) {
	err = r.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM received WHERE version > ?", version).Scan(&n)
	if err != nil {
		err = fmt.Errorf("read the receiver's orders: %w", err)
	}
	return n, err
}
