package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/bench/lab"
	"github.com/rowrelay/rowrelay/bench/peers"
)

// contender is one that delivers events.
type contender struct {
	name string
	// promise is what it says of order, in the table's words.
	promise string
	// init makes what it needs in the database, where the table orders stands already.
	init func(ctx context.Context, at place) error
	// insert writes what it needs beside the row in orders, in the same transaction; nil: nothing.
	insert func(ctx context.Context, tx pgx.Tx, m peers.Message) error
	// command is the process that delivers. It is killed, and started again.
	command func(at place) *exec.Cmd
}

// place is where a contender works.
type place struct {
	db  *lab.Database
	url string // where events go
	dir string // for its files
	o   options
}

// contenders are all of them, in the order in which they are shown.
func contenders(o options) []contender {
	all := []contender{
		rowrelay("rowrelay, cursor", cursor, 1),
		rowrelay("rowrelay, cursor, 100 in a request", cursor, 100),
		rowrelay("rowrelay, change tracking", tracking, 1),
		rowrelay("rowrelay, outbox", outbox, 1),
		rowrelay("rowrelay, outbox, 100 in a request", outbox, 100),
	}
	for _, p := range peers.All() {
		all = append(all, library(p))
	}
	if o.benthos != "" {
		all = append(all, benthos())
	}
	return all
}

// mode is one of Rowrelay's.
type mode struct {
	promise  string
	init     []string // the command that makes what it needs
	insert   func(ctx context.Context, tx pgx.Tx, m peers.Message) error
	settings []string // of the poller: what has to be set
}

var (
	cursor = mode{
		promise: "of an aggregate",
		settings: []string{"source__table=orders", "source__cursor=updated_at", "source__order_key=aggregate",
			"output__format=row"},
	}
	// Of a deleted row only the key is known, so that this mode keeps the order of a row, not of an aggregate.
	tracking = mode{
		promise:  "of a row",
		init:     []string{"track", "install", "orders", "--apply", "--yes"},
		settings: []string{"source__mode=changetracking", "source__table=orders", "output__format=row"},
	}
	outbox = mode{
		promise: "of an aggregate",
		init:    []string{"outbox", "init", "orders", "--apply"},
		insert: func(ctx context.Context, tx pgx.Tx, m peers.Message) error {
			_, err := tx.Exec(ctx, `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
				VALUES ('order', $1, 'OrderPlaced', $2, gen_random_uuid()::text)`, m.Aggregate, string(m.Payload))
			return err
		},
		settings: []string{"source__mode=outbox", "source__table=outbox", "output__format=payload"},
	}
)

// rowrelay is the binary with its defaults: only what stands here is set.
func rowrelay(name string, m mode, batch int) contender {
	command := func(at place, args ...string) *exec.Cmd {
		cmd := exec.Command(at.o.rowrelay, args...)
		cmd.Env = append(os.Environ(), "state__kind=file", "state__path="+filepath.Join(at.dir, "state"),
			"state__app_name=compare", "status__listen=127.0.0.1:0", "log__level=error", "COMPARE_DB="+at.db.URL)
		for _, s := range slices.Concat(m.settings, []string{"source__connection=COMPARE_DB",
			"poll_interval=" + at.o.poll.String(), "poll_interval_max=" + at.o.poll.String(),
			"output__kind=http", "output__url=" + at.url, "output__batch=" + strconv.Itoa(batch)}) {
			cmd.Env = append(cmd.Env, "pollers__orders__"+s)
		}
		return cmd
	}
	return contender{
		name:    name,
		promise: m.promise,
		init: func(_ context.Context, at place) error {
			if m.init == nil {
				return nil
			}
			if out, err := command(at, m.init...).CombinedOutput(); err != nil {
				return fmt.Errorf("rowrelay %v: %w\n%s", m.init, err, out)
			}
			return nil
		},
		insert:  m.insert,
		command: func(at place) *exec.Cmd { return command(at, "run") },
	}
}

// library is a Go library, which this command runs in a process of its own.
func library(p peers.Peer) contender {
	return contender{
		name:    p.Name,
		promise: p.Order,
		init:    func(ctx context.Context, at place) error { return p.Init(ctx, at.db.Pool) },
		insert:  p.Insert,
		command: func(at place) *exec.Cmd {
			self, _ := os.Executable()
			cmd := exec.Command(self, "-relay", p.Name, "-poll", at.o.poll.String(), at.url)
			cmd.Env = append(os.Environ(), "COMPARE_DB="+at.db.URL)
			return cmd
		},
	}
}

// benthos has no input that polls a table. This is a cursor as one makes it of its parts, and as one writes it oneself:
// remember the last id, ask for those above it.
func benthos() contender {
	return contender{
		name:    "a cursor of one's own, by Benthos",
		promise: "by the cursor",
		init:    func(context.Context, place) error { return nil },
		command: func(at place) *exec.Cmd {
			cmd := exec.Command(at.o.benthos, "-c", "compare/benthos/stream.yaml")
			cmd.Env = append(os.Environ(), "COMPARE_DB="+at.db.URL, "COMPARE_URL="+at.url,
				"COMPARE_DIR="+at.dir, "COMPARE_POLL="+at.o.poll.String())
			return cmd
		},
	}
}
