package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// canceller asks the server to give a statement up when its context ends. Without it an ended context only closes
// the socket, and the server goes on with the statement.
//
// It differs from pgx's own in that a request which was begun is finished, even where the statement has ended
// meanwhile: PgBouncer 1.18, which Debian 12 has, ends itself when a client hangs up in the middle of such a request.
type canceller struct {
	conn *pgconn.PgConn
	done chan struct{}
}

// cancelPatience bounds the request, and the wait for what the statement answers to it.
const cancelPatience = 2 * time.Second

// cancelLands is how long a request that the server has read may take to reach the session. The next statement must not
// be hit.
const cancelLands = 100 * time.Millisecond

// HandleCancel sends the request.
func (c *canceller) HandleCancel(context.Context) {
	done := make(chan struct{})
	c.done = done
	deadline := time.Now().Add(cancelPatience)
	_ = c.conn.Conn().SetDeadline(deadline) // a socket that is closed needs none
	go func() {
		defer close(done)
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		_ = c.conn.CancelRequest(ctx) // where it fails, the deadline ends the statement
		time.Sleep(cancelLands)
	}()
}

// HandleUnwatchAfterCancel waits for the request's end.
func (c *canceller) HandleUnwatchAfterCancel() {
	<-c.done
	_ = c.conn.Conn().SetDeadline(time.Time{})
}
