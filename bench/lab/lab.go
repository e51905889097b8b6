// Package lab has what every comparison needs: a database of its own for each run.
package lab

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Postgres is the variable whose value is the URL of a PostgreSQL server where databases may be created.
const Postgres = "ROWRELAY_TEST_POSTGRES"

// connections is how many a database's pool has at most, so that no writer waits for another's.
const connections = 48

// Database is a fresh one.
type Database struct {
	*pgxpool.Pool
	URL string
}

// NewDatabase creates a database. Drop removes it.
func NewDatabase(ctx context.Context) (*Database, error) {
	server, err := url.Parse(os.Getenv(Postgres))
	if err != nil || server.Host == "" {
		return nil, fmt.Errorf("%s is not set: run it by make, which starts the servers", Postgres)
	}
	name := fmt.Sprintf("rr_bench_%d", time.Now().UnixNano())
	if err := administer(ctx, server.String(), "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	server.Path = "/" + name
	config, err := pgxpool.ParseConfig(server.String())
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &Database{pool, server.String()}, nil
}

// Drop removes the database, whoever uses it.
func (d *Database) Drop() {
	d.Close()
	_ = administer(context.Background(), os.Getenv(Postgres),
		"DROP DATABASE IF EXISTS "+d.Config().ConnConfig.Database+" WITH (FORCE)")
}

func administer(ctx context.Context, server, statement string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Each calls insert for every number below n, in transactions of 1,000.
func (d *Database) Each(ctx context.Context, n int, insert func(tx pgx.Tx, i int) error) error {
	for first := 0; first < n; first += 1000 {
		if err := pgx.BeginFunc(ctx, d, func(tx pgx.Tx) error {
			for i := first; i < min(first+1000, n); i++ {
				if err := insert(tx, i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
