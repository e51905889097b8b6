package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// River is github.com/riverqueue/river: a queue of jobs. It promises no order between jobs; with one worker they run
// one after the other.
func River(workers int) Peer {
	order := none
	if workers == 1 {
		order = oneAfterTheOther
	}
	var inserting *river.Client[pgx.Tx]
	return Peer{
		Order: order,
		Name:  fmt.Sprintf("river, %d workers", workers),
		Init: func(ctx context.Context, db *pgxpool.Pool) error {
			migrator, err := rivermigrate.New(riverpgxv5.New(db), nil)
			if err != nil {
				return err
			}
			if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
				return err
			}
			inserting, err = river.NewClient(riverpgxv5.New(nil), &river.Config{})
			return err
		},
		Insert: func(ctx context.Context, tx pgx.Tx, m Message) error {
			_, err := inserting.InsertTx(ctx, tx, job{Payload: m.Payload}, nil)
			return err
		},
		Relay: func(ctx context.Context, db *pgxpool.Pool, poll time.Duration, send Send) error {
			all := river.NewWorkers()
			river.AddWorker(all, &worker{send: send})
			client, err := river.NewClient(riverpgxv5.New(db), &river.Config{
				Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
				Workers:       all,
				FetchCooldown: time.Millisecond, FetchPollInterval: poll,
				// A job of a worker that was killed is tried again after an hour, unless this is set.
				JobTimeout: 5 * time.Second, RescueStuckJobsAfter: 10 * time.Second,
			})
			if err != nil {
				return err
			}
			if err := client.Start(ctx); err != nil {
				return err
			}
			<-client.Stopped()
			return ctx.Err()
		},
	}
}

type job struct {
	Payload json.RawMessage `json:"payload"`
}

// Kind implements river.JobArgs.
func (job) Kind() string { return "publish" }

type worker struct {
	river.WorkerDefaults[job]
	send Send
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, j *river.Job[job]) error {
	return w.send(ctx, j.Args.Payload)
}
