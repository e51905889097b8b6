package outbox_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// state is an order in an event.
type state struct {
	ID       int
	Customer string
	Total    json.Number
}

func (s *state) String() string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%d %s %s", s.ID, s.Customer, s.Total)
}

// kept is an event of the outbox.
type kept struct {
	aggregate, event string
	before, after    *state
}

// events are those of the outbox, in the order in which it publishes those of an aggregate.
func events(t *testing.T, engine string, db *sql.DB) (list []kept) {
	t.Helper()
	order := "seq"
	if engine == "mysql" {
		order = "id"
	}
	rows, err := db.QueryContext(t.Context(), "SELECT aggregate_id, event_type, payload FROM outbox ORDER BY "+order)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // read to the end
	for rows.Next() {
		var e kept
		var payload string
		if err := rows.Scan(&e.aggregate, &e.event, &payload); err != nil {
			t.Fatal(err)
		}
		var both struct{ Before, After *state }
		if err := json.Unmarshal([]byte(payload), &both); err != nil {
			t.Fatalf("%v: %s", err, payload)
		}
		e.before, e.after = both.Before, both.After
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEveryChange: each write is an event, with the row before and after it; what is rolled back is none.
func TestEveryChange(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			db := run(t, e.name, "every_change_"+e.name+".sql", e.open)
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			const ada = `INSERT INTO orders (id, customer, total) VALUES (1, 'Ada "Lady" L', 9.50)`
			if _, err := tx.ExecContext(t.Context(), ada); err != nil {
				t.Fatal(err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{
				ada, `UPDATE orders SET total = total + 1`, `UPDATE orders SET id = 2`,
				`INSERT INTO orders (id, customer, total) VALUES (3, 'Bob', 1)`, `UPDATE orders SET customer = 'Eve'`, `DELETE FROM orders`,
			} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%v\n%s", err, statement)
				}
			}
			of := map[string]string{}
			for _, k := range events(t, e.name, db) {
				of[k.aggregate] += fmt.Sprintf("%s: %s > %s\n", strings.TrimPrefix(k.event, "Order"), k.before, k.after)
			}
			for id, want := range map[string]string{
				"1": "Inserted: - > 1 Ada \"Lady\" L 9.50\nUpdated: 1 Ada \"Lady\" L 9.50 > 1 Ada \"Lady\" L 10.50\n" +
					"Deleted: 1 Ada \"Lady\" L 10.50 > -\n",
				"2": "Inserted: - > 2 Ada \"Lady\" L 10.50\nUpdated: 2 Ada \"Lady\" L 10.50 > 2 Eve 10.50\n" +
					"Deleted: 2 Eve 10.50 > -\n",
				"3": "Inserted: - > 3 Bob 1.00\nUpdated: 3 Bob 1.00 > 3 Eve 1.00\nDeleted: 3 Eve 1.00 > -\n",
			} {
				if e.name == "sqlite" { // its numbers have no scale
					want = strings.NewReplacer("9.50", "9.5", "0.50", "0.5", "1.00", "1").Replace(want)
				}
				if of[id] != want {
					t.Errorf("events of order %s:\n%swant:\n%s", id, of[id], want)
				}
			}
		})
	}
}

// TestEveryChangeInOrder: writers side by side insert, update and delete a few orders. In the order of the outbox each
// event of an order begins with the row that the one before it ended with.
func TestEveryChangeInOrder(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			db := run(t, e.name, "every_change_"+e.name+".sql", e.open)
			var writers sync.WaitGroup
			for w := range 8 {
				writers.Go(func() {
					for i := range 60 {
						id := (w*7 + i) % 5
						statement := fmt.Sprintf("UPDATE orders SET total = total + 1 WHERE id = %d", id)
						switch i % 4 {
						case 0:
							statement = fmt.Sprintf("INSERT INTO orders (id, customer, total) VALUES (%d, 'Ada', %d)", id, 1000*w)
						case 3:
							statement = fmt.Sprintf("DELETE FROM orders WHERE id = %d", id)
						}
						_, _ = db.ExecContext(t.Context(), statement) // an order that is there already is no matter
					}
				})
			}
			writers.Wait()
			list := events(t, e.name, db)
			if len(list) < 50 {
				t.Fatalf("%d events show nothing", len(list))
			}
			last := map[string]string{}
			for i, k := range list {
				was, seen := last[k.aggregate]
				if !seen {
					was = "-"
				}
				if k.before.String() != was {
					t.Errorf("event %d of order %s begins with %s, and the one before it ended with %s", i, k.aggregate, k.before, was)
				}
				last[k.aggregate] = k.after.String()
			}
		})
	}
}
