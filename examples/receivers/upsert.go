package receivers

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
)

const upsertTables = `
CREATE TABLE IF NOT EXISTS order_states (
	key    TEXT NOT NULL,
	cursor TEXT NOT NULL,
	data   TEXT NOT NULL,
	PRIMARY KEY (key, cursor)
);
CREATE TABLE IF NOT EXISTS orders (
	key     TEXT NOT NULL PRIMARY KEY,
	data    TEXT NOT NULL,
	deleted BOOLEAN NOT NULL
)`

// Upsert keeps every state of a row once, by (key, cursor), and the newest state by key. A repetition meets its own row
// and changes nothing. It reads output__format=cloudevents.
type Upsert struct{ db *sql.DB }

// NewUpsert makes the tables where they are missing.
func NewUpsert(ctx context.Context, db *sql.DB) (*Upsert, error) {
	for _, statement := range []string{upsertTables, fenceTable} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("make the tables: %w", err)
		}
	}
	return &Upsert{db}, nil
}

// cloudEvent is what is needed of an event. The cursor is opaque: it is compared for equality, never for order.
type cloudEvent struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Poller  string          `json:"rowrelaypoller"`
	KeyHash string          `json:"rowrelaykeyhash"`
	Cursor  string          `json:"rowrelaycursor"`
	Data    json.RawMessage `json:"data"`
}

// ServeHTTP takes one request, a JSON array of events.
func (u *Upsert) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var events []cloudEvent
	if !readJSON(w, r, &events) {
		return
	}
	for i := range events {
		if e := &events[i]; e.Poller == "" || e.KeyHash == "" || e.Cursor == "" {
			// Without these, all events would look like one, and be taken for duplicates of it.
			http.Error(w, "set output__format=cloudevents: the events have no key and cursor", http.StatusBadRequest)
			return
		}
	}
	token, number, err := pairOf(r.Header)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var stale []itemFailure
	err = inTransaction(r.Context(), u.db, func(tx *sql.Tx) error {
		for i := range events {
			current, err := u.keep(r.Context(), tx, &events[i], token, number)
			if err != nil {
				return err
			}
			if !current {
				stale = append(stale, itemFailure{events[i].ID})
			}
		}
		return nil
	})
	if err != nil {
		http.Error(w, "nothing was kept: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	answer(w, stale)
}

func (u *Upsert) keep(ctx context.Context, tx *sql.Tx, e *cloudEvent, token, number int64) (current bool, err error) {
	key := e.Poller + ":" + e.KeyHash
	if current, err = passFence(ctx, tx, key, token, number); err != nil || !current {
		return current, err
	}
	if _, err := tx.ExecContext(ctx, `
		INSERT INTO order_states (key, cursor, data) VALUES (?, ?, ?)
		ON CONFLICT (key, cursor) DO UPDATE SET data = excluded.data`, key, e.Cursor, string(e.Data)); err != nil {
		return false, fmt.Errorf("keep a state: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `
		INSERT INTO orders (key, data, deleted) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET data = excluded.data, deleted = excluded.deleted`,
		key, string(e.Data), e.Type == "rowrelay.row.delete"); err != nil {
		return false, fmt.Errorf("keep the newest state: %w", err)
	}
	return true, nil
}
