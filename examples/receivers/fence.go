package receivers

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strconv"
)

const fenceTable = `
CREATE TABLE IF NOT EXISTS fences (
	key    TEXT NOT NULL PRIMARY KEY,
	token  BIGINT NOT NULL,
	number BIGINT NOT NULL
)`

// passFence is the fencing rule. Every request carries the fencing token of the lease and a delivery number that grows
// with each request under it, repetitions included. A request with a lower pair than the highest that was seen for a
// key is one that its sender has given up: it timed out, or its owner lost the lease. It must not undo what came after
// it.
//
// It is refused, not swallowed. If somebody deleted the relay's state document, tokens begin at 1 again, and then a
// refusal fails the relay's tick visibly, where a 2xx would lose the event. Empty the table fences in that case.
//
// The same pair again is the same request again (net/http may repeat one): it passes.
//
// The pair orders requests, not states. After a crash the relay delivers again what was not acknowledged, with a higher
// token: a key may show an older state once more before it shows its newest one again.
func passFence(ctx context.Context, tx *sql.Tx, key string, token, number int64) (bool, error) {
	result, err := tx.ExecContext(ctx, `
		INSERT INTO fences (key, token, number) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET token = excluded.token, number = excluded.number
		WHERE (excluded.token, excluded.number) >= (fences.token, fences.number)`, key, token, number)
	if err != nil {
		return false, fmt.Errorf("the fence: %w", err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// pairOf reads the pair of a request. It stands in headers, because the body of a repetition is that of the first time.
func pairOf(h http.Header) (token, number int64, err error) {
	if token, err = strconv.ParseInt(h.Get("Rowrelay-Fencing-Token"), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("Rowrelay-Fencing-Token: %w", err)
	}
	if number, err = strconv.ParseInt(h.Get("Rowrelay-Delivery"), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("Rowrelay-Delivery: %w", err)
	}
	return token, number, nil
}
