package sqltable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// BenchmarkDeliver writes requests of 100 rows that are there already, with other values: with the guard, and by the
// same upsert alone.
func BenchmarkDeliver(b *testing.B) {
	for name, database := range map[string]func(testing.TB) string{"postgres": testenv.Postgres, "mysql": testenv.MySQL,
		"sqlite": testenv.SQLite} {
		for _, guarded := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/guarded=%t", name, guarded), func(b *testing.B) {
				url := database(b)
				if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
					if err := os.WriteFile(path, nil, 0o600); err != nil {
						b.Fatal(err)
					}
				}
				c, err := engines.Parse(url)
				if err != nil {
					b.Fatal(err)
				}
				o, err := New(Config{Connection: c, Table: "copies", Sender: "shop/orders", Create: true, Connections: 1})
				if err != nil {
					b.Fatal(err)
				}
				defer o.Close() //nolint:errcheck // a benchmark's
				testenv.Exec(b, o.db, "CREATE TABLE copies (id bigint PRIMARY KEY, text varchar(200), amount decimal(10,2))")
				n := 0
				for b.Loop() {
					n++
					d := change.Delivery{Token: 1, Number: uint64(n)} //nolint:gosec // it counts from 1
					for i := range 100 {
						key := fmt.Appendf(nil, `{"id":%d}`, (n*100+i)%10_000)
						d.Events = append(d.Events, change.Event{ID: fmt.Sprint(n, "-", i), Op: change.Upsert, Key: key, OrderKey: key,
							Row: fmt.Appendf(nil, `{"id":%d,"text":"%d","amount":"%d.25"}`, (n*100+i)%10_000, n, n%1000)})
					}
					if guarded {
						err = o.Deliver(b.Context(), d)
					} else {
						err = o.unguarded(b.Context(), &d)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*100)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// unguarded is write without the guard.
func (o *Output) unguarded(ctx context.Context, d *change.Delivery) error {
	t, err := o.described(ctx)
	if err != nil {
		return err
	}
	rows, all := map[int]*row{}, make([]int, len(d.Events))
	for i := range d.Events {
		if rows[i], err = o.read(t, &d.Events[i]); err != nil {
			return err
		}
		all[i] = i
	}
	tx, err := o.db.BeginTx(ctx, o.isolation)
	if err != nil {
		return err
	}
	if err := o.apply(ctx, tx, rows, all); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
