// Package enginetest is what tests of the engines, and of what reads by them, share.
package enginetest

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
)

// Prepare returns a connection of a pool as a source prepares it. The end of the test closes both.
func Prepare(t *testing.T, d engine.Dialect, pool *sql.DB) (*sql.Conn, engine.Server) {
	t.Helper()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	server, err := d.Prepare(t.Context(), conn, engine.Settings{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return conn, server
}

// Values reads one column of every row that a statement returns, as JSON.
func Values(t *testing.T, d engine.Dialect, conn *sql.Conn, text string, args []any, col engine.Column) []string {
	t.Helper()
	var got []string
	err := d.Read(t.Context(), conn, text, args, []engine.Column{col}, func(r engine.Row) (bool, error) {
		v, err := r.AppendJSON(nil, 0)
		got = append(got, string(v))
		return true, err
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return got
}

// Encode measures the JSON of all columns of a row.
func Encode(b *testing.B, r engine.Row, columns int) {
	b.Helper()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for i := range columns {
			var err error
			if dst, err = r.AppendJSON(dst, i); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(len(dst)))
	}
}
