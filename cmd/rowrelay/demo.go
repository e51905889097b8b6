package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/demo"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
)

// demoOptions are the flags of `rowrelay demo`.
type demoOptions struct {
	dir        string
	connection string
	rate       int
	length     time.Duration
	clean      bool
}

// maxDemoRate is what one writer and one receiver on a small machine still keep up with.
const maxDemoRate = 5000

func newDemo(c *console) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work: a shop's table, the relay, and a receiver, with nothing installed",
		Long: `Demo writes orders into a table, relays them with the same parts and settings as rowrelay run, and receives them at an
HTTP endpoint on 127.0.0.1. The shop is a SQLite file unless --connection names another database. Shop, receiver and
checkpoint are kept in --dir: end the demo in any way, kill -9 included, and start it again. It goes on without a gap.

Ctrl-C stops the writer, waits until what was written has arrived, and compares both sides. A second demo on the same
directory writes too, and its relay stands by: kill the first, and the second takes over when the lease has expired.

The cursor is the column version, a bigint that the writer takes within its transaction as one more than the highest
committed one. It is UNIQUE, so versions become visible in their order and no late commit is lost. A cursor that is
taken before the commit by a sequence or a clock does not have this property: source__late_commits then finds what commits
late (docs/late-commits.md). Here it is switched off, so that the position on the screen moves with every commit.

` + disclosure,
		Example: `  rowrelay demo
  rowrelay demo --rate 500
  rowrelay demo --connection 'postgres://user:password@localhost/shop'
  rowrelay demo --clean`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), c, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", "", "directory kept between runs (default .rowrelay/demo, with --connection one of its own)")
	flags.IntVar(&o.rate, "rate", 20, "writes per second; 0 only relays what is there")
	flags.DurationVar(&o.length, "for", 0, "end after this time, such as 30s; the exit code is 1 if anything is missing")
	flags.StringVar(&o.connection, "connection", "", "keep the shop in this database: postgres://…, mysql://… or sqlserver://…; creates the table rowrelay_demo_orders there")
	flags.BoolVar(&o.clean, "clean", false, "remove the shop's table and what --dir keeps of the demo, then exit")
	return cmd
}

// demoShop is the shop, where it is, and how a poller would be told of it.
type demoShop struct {
	*demo.Shop
	db         *sql.DB
	engine     string
	place      string // for people: without secrets
	connection string // the value of the setting that source__connection names
}

// check holds the flags against each other and fills in the directory.
func (o *demoOptions) check() error {
	switch {
	case o.rate < 0 || o.rate > maxDemoRate:
		return fmt.Errorf("--rate %d: give a number from 0 to %d", o.rate, maxDemoRate)
	case o.length < 0:
		return fmt.Errorf("--for %s: give a positive time such as 30s", o.length)
	case o.dir != "":
		return nil
	case o.connection == "":
		o.dir = filepath.Join(".rowrelay", "demo")
		return nil
	}
	conn, err := engines.Parse(o.connection)
	if err != nil {
		return fmt.Errorf("--connection: %w", err)
	}
	// Each database has a directory of its own: a checkpoint is worth nothing for another one.
	sum := sha256.Sum256([]byte(conn.Identity))
	o.dir = filepath.Join(".rowrelay", "demo-"+conn.Engine+"-"+hex.EncodeToString(sum[:4]))
	return nil
}

// openShop opens the shop's database for writing, and creates nothing but a SQLite file.
func (o *demoOptions) openShop() (*demoShop, error) {
	s := &demoShop{}
	var err error
	if o.connection == "" {
		path := filepath.Join(o.dir, "shop.db")
		s.engine, s.place, s.connection = "sqlite", path, "sqlite:"+path
		s.db, err = demo.OpenFile(path)
	} else {
		var conn engine.Connection
		if conn, err = engines.Parse(o.connection); err != nil {
			return nil, fmt.Errorf("--connection: %w", err)
		}
		if conn.Engine == "sqlite" {
			return nil, errors.New("--connection: for a shop in SQLite give its directory: --dir")
		}
		s.engine, s.place, s.connection = conn.Engine, conn.Identity, o.connection
		s.db = conn.DB(4)
	}
	if err != nil {
		return nil, err
	}
	s.Shop, err = demo.NewShop(s.db, s.engine)
	return s, err
}

// demoFiles are what the demo keeps in its directory.
var demoFiles = []string{
	"state", "rowrelay.log", "shop.db", "shop.db-wal", "shop.db-shm", "receiver.db", "receiver.db-wal", "receiver.db-shm",
}

// cleanDemo removes the table from a guest's database, then the files: in this order, so that a failure in between
// leaves a demo that says what is wrong, and not a shop that is delivered anew.
func cleanDemo(ctx context.Context, c *console, o demoOptions) error {
	var done []string
	if o.connection != "" {
		shop, err := o.openShop()
		if err != nil {
			return err
		}
		err = shop.Drop(ctx)
		if err := errors.Join(err, shop.db.Close()); err != nil {
			return err
		}
		done = append(done, "the table "+shop.Table()+" in "+shop.place)
	}
	for _, name := range demoFiles {
		path := filepath.Join(o.dir, name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove what the demo kept: %w", err)
		}
		done = append(done, path)
	}
	if len(done) == 0 {
		done = []string{"nothing: there was nothing in " + o.dir}
	}
	_, err := fmt.Fprintln(c.out, "removed "+strings.Join(done, ", "))
	return err
}

// demoSettings are what a user would write as app settings; docs/settings.md explains each.
func demoSettings(o demoOptions, shop *demoShop, url string) []string {
	plain := func(value string) string { return strings.ReplaceAll(value, "%", "%%") }
	settings := []string{
		"state__kind=file",
		"state__path=" + plain(filepath.Join(o.dir, "state")),
		"state__app_name=demo",
		"log__level=info",
		"DEMO_SHOP=" + shop.connection,
		"pollers__orders__source__connection=DEMO_SHOP",
		"pollers__orders__source__table=" + shop.Table(),
		"pollers__orders__source__cursor=version",
		// Versions become visible in their order: see the command's help. So the position moves with every commit, for the screen.
		"pollers__orders__source__late_commits=none",
		"pollers__orders__output__kind=http",
		"pollers__orders__output__url=" + url,
		// A tick goes on polling, so that rows arrive within a tenth of a second of their commit.
		"pollers__orders__poll_interval=100ms",
		"pollers__orders__tick_budget=15s",
		// Short, so that a start after kill -9 does not wait for long: the dead one's lease has to expire first.
		"pollers__orders__lease_ttl=3s",
	}
	if shop.engine == "sqlite" {
		// The directory may be moved: the file's path is not what makes it this shop.
		settings = append(settings, "pollers__orders__source__identity=rowrelay-demo")
	}
	return settings
}
