package tracking_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// transaction does one to four things to the table, and reports whether they were committed. Of one key v only grows.
func (r *rig) transaction(ctx context.Context) bool {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return false
	}
	defer func() { _ = tx.Rollback() }()
	key := func() int { return 1 + rand.IntN(max(r.keys, 1000)) }
	for range 1 + rand.IntN(4) {
		var text string
		switch rand.IntN(10) {
		case 0, 1, 2:
			text = fmt.Sprintf("INSERT INTO orders VALUES (%d, %d)", key(), time.Now().UnixNano())
		case 3:
			text = fmt.Sprintf("DELETE FROM orders WHERE id = %d", key())
		case 4:
			text = fmt.Sprintf("UPDATE orders SET id = %d, v = %d WHERE id = %d", key(), time.Now().UnixNano(), key())
		case 5:
			low := key()
			text = fmt.Sprintf("UPDATE orders SET v = v + 1 WHERE id BETWEEN %d AND %d", low, low+5)
		default:
			text = fmt.Sprintf("UPDATE orders SET v = v + 1 WHERE id = %d", key())
		}
		if rand.IntN(20) == 0 {
			text = "UPDATE orders SET v = v + 1 WHERE id = 7"
		}
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return false
		}
	}
	if r.hold != "" && rand.IntN(20) == 0 {
		if _, err := tx.ExecContext(ctx, r.hold); err != nil {
			return false
		}
	}
	if rand.IntN(8) == 0 {
		return false
	}
	return tx.Commit() == nil
}
