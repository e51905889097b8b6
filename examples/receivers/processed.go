package receivers

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
)

const processedTables = `
CREATE TABLE IF NOT EXISTS processed_events (
	poller_name TEXT NOT NULL,
	pk_hash     TEXT NOT NULL,
	cursor      TEXT NOT NULL,
	UNIQUE (poller_name, pk_hash, cursor)
);
CREATE TABLE IF NOT EXISTS points (
	customer TEXT NOT NULL PRIMARY KEY,
	total    BIGINT NOT NULL
)`

// Processed has an effect that must not happen twice: an order's points are added to its customer's. The row in
// processed_events and the effect are one transaction, so that neither is there without the other. It reads
// output__format=rowchange.
//
// Rows of processed_events may be deleted when they are older than the longest time for which you would reset a poller
// to an earlier position.
type Processed struct{ db *sql.DB }

// NewProcessed makes the tables where they are missing.
func NewProcessed(ctx context.Context, db *sql.DB) (*Processed, error) {
	if _, err := db.ExecContext(ctx, processedTables); err != nil {
		return nil, fmt.Errorf("make the tables: %w", err)
	}
	return &Processed{db}, nil
}

// rowChange is what is needed of an event.
type rowChange struct {
	Op       string `json:"op"`
	Cursor   string `json:"cursor"`
	Metadata struct {
		Poller  string `json:"poller"`
		KeyHash string `json:"key_hash"`
	} `json:"metadata"`
	After struct {
		Customer string `json:"customer"`
		Points   int64  `json:"points"`
	} `json:"after"`
}

// ServeHTTP takes one request, a JSON array of events.
func (p *Processed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var events []rowChange
	if !readJSON(w, r, &events) {
		return
	}
	for i := range events {
		if m := &events[i].Metadata; m.Poller == "" || m.KeyHash == "" || events[i].Cursor == "" {
			// Without these, all events would look like one, and be taken for duplicates of it.
			http.Error(w, "set output__format=rowchange: the events have no key and cursor", http.StatusBadRequest)
			return
		}
	}
	err := inTransaction(r.Context(), p.db, func(tx *sql.Tx) error {
		for i := range events {
			if err := process(r.Context(), tx, &events[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		http.Error(w, "nothing was processed: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func process(ctx context.Context, tx *sql.Tx, e *rowChange) error {
	result, err := tx.ExecContext(ctx, `
		INSERT INTO processed_events (poller_name, pk_hash, cursor) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		e.Metadata.Poller, e.Metadata.KeyHash, e.Cursor)
	if err != nil {
		return fmt.Errorf("note the event: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err // 0: processed before
	}
	if e.Op == "delete" {
		return nil // points are not taken back
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO points (customer, total) VALUES (?, ?)
		ON CONFLICT (customer) DO UPDATE SET total = points.total + excluded.total`, e.After.Customer, e.After.Points)
	if err != nil {
		return fmt.Errorf("add the points: %w", err)
	}
	return nil
}
