package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/demo"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/wiring"
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
taken before the commit by a sequence or a clock does not have this property: source__late_commits then finds what ` +
			`commits
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
	flags.StringVar(&o.dir, "dir", "",
		"directory kept between runs (default .rowrelay/demo, with --connection one of its own)")
	flags.IntVar(&o.rate, "rate", 20, "writes per second; 0 only relays what is there")
	flags.DurationVar(&o.length, "for", 0, "end after this time, such as 30s; the exit code is 1 if anything is missing")
	flags.StringVar(&o.connection, "connection", "",
		"keep the shop in this database: postgres://…, mysql://… or sqlserver://…; creates the table rowrelay_demo_orders there")
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
	removed, err := demo.Remove(o.dir)
	if err != nil {
		return err
	}
	done = append(done, removed...)
	if len(done) == 0 {
		done = []string{"nothing: there was nothing in " + o.dir}
	}
	_, err = fmt.Fprintln(c.out, "removed "+strings.Join(done, ", "))
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
		"status__listen=127.0.0.1:0",
		"DEMO_SHOP=" + shop.connection,
		"pollers__orders__source__connection=DEMO_SHOP",
		"pollers__orders__source__table=" + shop.Table(),
		"pollers__orders__source__cursor=version",
		// Versions become visible in their order: see the command's help. So the position moves with every commit, for the
		// screen.
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

// runDemo is the command. Whatever ends it leaves the directory so that the next run can go on.
func runDemo(ctx context.Context, c *console, o demoOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if o.clean {
		return cleanDemo(ctx, c, o)
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("the demo's directory: %w: give another one with --dir", err)
	}
	shop, err := o.openShop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.db.Close()) }()
	if err := shop.Create(ctx); err != nil {
		return err
	}
	receiver, err := demo.OpenReceiver(ctx, filepath.Join(o.dir, "receiver.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, receiver.Close()) }()
	url, stop, err := receiver.Serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	logFile, err := os.OpenFile(filepath.Join(o.dir, "rowrelay.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the demo's log: %w", err)
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()

	inner := &console{environ: demoSettings(o, shop, url), out: io.Discard, err: io.Discard}
	cfg, _ := config.Load(inner.environ) // its error is the faults that the App holds
	a := wiring.New(cfg, inner.process())
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := wiring.Refuse(cfg, a.Pollers); err != nil {
		return err
	}
	lifetime, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	log := slog.New(slog.NewTextHandler(logFile, nil))
	tell(ctx, log, a)
	side := newStatusSide(inner, a, false, a.Pollers, log)
	defer side.close()
	h := handler.New(lifetime, handler.Config{Pollers: a.Handlers(nil), Log: log, Observe: side.observe,
		Registry: newRegistry()})
	stopStatus, err := serveStatus(ctx, cfg, alonePage(cfg, side, h.MetricsHandler(), log), log)
	if err != nil {
		return err
	}
	defer stopStatus()
	d := &demo.Run{
		Shop: shop.Shop, Receiver: receiver, Rate: o.rate, For: o.length, Screen: demo.NewScreen(c.out, c.json),
		Relay: &demoRelay{keeper: a.Pollers[0].Outputs[0].Keeper, handler: h},
	}
	if err := greet(ctx, c, o, d, shop, url, "http://"+cfg.Status.Listen+"/status"); err != nil {
		return err
	}
	ending, err := d.Do(ctx, func() { end(errStopped) })
	if err != nil {
		return err
	}
	if c.json {
		_, err = fmt.Fprintln(c.out, ending.JSON(ending.Totals, ending.Position))
	} else {
		_, err = fmt.Fprintf(c.out, "%s\nThe next run goes on at %s. Remove everything: %s demo --clean%s\n",
			ending.Summary(ending.Totals), ending.Position, wiring.Program, cleanFlags(o))
	}
	if ending.Missing > 0 { // after a clean end
		return &exitError{fmt.Errorf("%d orders are missing", ending.Missing)}
	}
	return err
}

// demoRelay is the poller orders, as the demo sees it.
type demoRelay struct {
	keeper  *state.Keeper
	handler *handler.Handler
}

// Tick implements demo.Relay.
func (r *demoRelay) Tick(ctx context.Context) error {
	reports, err := r.handler.Tick(ctx, "orders", handler.Invocation{})
	for i := range reports {
		if r := &reports[i]; r.Failed() || r.Event == poller.LeaseAcquireSkipped {
			err = fmt.Errorf("%s: %w", r.Event, r.Err)
		}
	}
	return err
}

// Checkpoint implements demo.Relay.
func (r *demoRelay) Checkpoint(ctx context.Context) (demo.Checkpoint, error) {
	snapshot, err := r.keeper.Load(ctx)
	if errors.Is(err, state.ErrNotFound) {
		return demo.Checkpoint{None: true}, nil
	}
	if err != nil {
		return demo.Checkpoint{}, &checkpointError{err}
	}
	c := demo.Checkpoint{Cursor: snapshot.Doc.Checkpoint.Cursor, Token: snapshot.Doc.Lease.FencingToken}
	if held := snapshot.Held(); held != nil {
		c.Held = max(held.ExpiresIn, 1)
	}
	return c, nil
}

// checkpointError is why the state document cannot be read.
type checkpointError struct{ error }

func (e *checkpointError) Unwrap() error { return e.error }

// greet says what is shown, and from where it goes on.
func greet(ctx context.Context, c *console, o demoOptions, d *demo.Run, shop *demoShop,
	url, status string) error {
	b, err := d.Begin(ctx)
	var unread *checkpointError
	switch {
	case errors.As(err, &unread):
		return fmt.Errorf("reading the state document in %s: %w: remove what is damaged with %s demo --clean%s", o.dir,
			err, wiring.Program, cleanFlags(o))
	case err != nil:
		return err
	case b.At > b.Top:
		return fmt.Errorf("the checkpoint in %s is at version %d, but the shop's last version is %d: the table was removed or "+
			"restored, and new orders would not be seen. Start over with %s demo --clean%s", o.dir, b.At, b.Top,
			wiring.Program, cleanFlags(o))
	case c.json:
		return nil // machines read the numbers
	}
	_, err = fmt.Fprintf(c.out, `Rowrelay demo: orders written to table %s (%s, %s) become requests to %s.
%s

%s
Status page: %s
Kept in %s, with the relay's log. Ctrl-C ends it and compares; kill -9 %d and a new start lose nothing.

`, shop.Table(), shop.engine, shop.place, url, disclosure, strings.Join(beginning(&b), "\n"), status, o.dir, os.Getpid())
	return err
}

func beginning(b *demo.Beginning) (lines []string) {
	if b.None {
		lines = append(lines, "There is no checkpoint yet: the relay starts at the beginning.")
		if b.Top > 0 {
			lines = append(lines, fmt.Sprintf("The table holds %d versions already, which will all be delivered.", b.Top))
		}
		return lines
	}
	lines = append(lines, fmt.Sprintf("Continuing at %s, fencing token %d. Orders written and not acknowledged yet: %d; of them arrived already: %d.",
		b.Position, b.Token, b.Waiting, b.Beyond))
	if b.Held > 0 {
		lines = append(lines, fmt.Sprintf("The last run was killed, or another one is at work: its lease can be taken in %s.",
			b.Held.Round(100*time.Millisecond)))
	}
	return lines
}

// cleanFlags are what --clean needs to find this demo again, without the connection string.
func cleanFlags(o demoOptions) string {
	switch {
	case o.connection != "":
		return " --dir " + o.dir + " --connection …"
	case o.dir != filepath.Join(".rowrelay", "demo"):
		return " --dir " + o.dir
	default:
		return ""
	}
}
