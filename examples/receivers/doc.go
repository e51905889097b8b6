// Package receivers holds three receivers that bear what at-least-once delivery means: an event may arrive twice, and a
// request that was given up may take effect late. docs/duplicates.md says when that happens. Take the one that fits,
// and replace SQLite by your database: in PostgreSQL only the placeholders differ ($1 for ?), elsewhere the upsert too.
//
//	Upsert      upsert.go      (also upsert.py, upsert.ts, Upsert.cs) the effect is a row: write it by (key, cursor), and the newest state by key behind a fence
//	Processed   processed.go   the effect is in your database, but no upsert: a processed_events row in the same transaction
//	Downstream  downstream.go  the effect is in somebody else's API: hand the idempotency key on
//
// Each reads another wire format: cloudevents, rowchange and row (docs/formats.md).
//
// All three answer 2xx only after their own commit, or the downstream's: a 2xx acknowledges the events for ever. An
// event that one of them cannot take is named in batchItemFailures or fails the request; it is never swallowed.
package receivers

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxRequest is above output__batch_bytes (1 MiB by default), which one large row may exceed.
const maxRequest = 16 << 20

// readJSON decodes a request's body. An answer of 400 says that repeating it is of no use.
func readJSON(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		http.Error(w, "cannot read the request: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// itemFailure names an event that was not taken.
type itemFailure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

// answer accepts all events but those named in failed: they are delivered again, and the relay says so.
func answer(w http.ResponseWriter, failed []itemFailure) {
	w.Header().Set("Content-Type", "application/json")
	body, err := json.Marshal(map[string][]itemFailure{"batchItemFailures": failed})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(body) // a relay that does not get the answer asks again
}

// inTransaction runs f in one transaction: all of a request takes effect, or nothing.
func inTransaction(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
