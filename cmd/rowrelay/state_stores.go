package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/state/sqlstore"
	"github.com/rowrelay/rowrelay/wiring"
)

func newStateInit(t *target) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print, or apply, the DDL of the table of state documents",
		Long: `Init prints the statement that creates the table of state__kind=sql (state__table) in the dialect of the database
that state__connection names, ready to be run by whoever may. With --apply it runs it; a table that exists is left as
it is.`,
		Example: `  rowrelay state init | psql "$STATE_DB"
  rowrelay state init --apply`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.initState(cmd.Context(), apply) },
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "run the statement, instead of printing it")
	return cmd
}

func (t *target) initState(ctx context.Context, apply bool) error {
	cfg, err := load(t.console)
	if err != nil {
		return err
	}
	if err := errorOf(cfg.Faults); err != nil {
		return err
	}
	s := &cfg.State
	if s.Kind != "sql" {
		return fmt.Errorf("state__kind is %q: only sql has a table that is made by a statement", s.Kind)
	}
	conn, err := inspect.ConnectionOf(&s.Database)
	if err != nil {
		return err
	}
	if !apply {
		ddl, err := sqlstore.DDL(conn.Engine, s.Table)
		if err != nil {
			return err
		}
		if t.json {
			return printing.JSON(t.out, statements{conn.Engine, []string{ddl}})
		}
		p := &printing.Printer{W: t.out}
		p.Line("-- The table of state documents on %s. `rowrelay state init --apply` runs the same.\n%s;", conn.Engine, ddl)
		return p.Err
	}
	if err := createFile(conn, s.ConnectionSetting); err != nil {
		return err
	}
	store, err := wiring.SQLStore(s)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // nothing is under way
	if err := store.Init(ctx); err != nil {
		return plaintext.Error(err)
	}
	return t.done("the table %s is there", s.Table)
}

func newStateMove(t *target) *cobra.Command {
	var to []string
	cmd := t.flags(&cobra.Command{
		Use:   "move",
		Short: "Copy all documents to another state store, and pause them where they are",
		Long: `Move copies the documents of this app (state__app_name), with their side objects and dead letters, to the store
that the settings after --to describe. Each document is paused where it is and copied under its lease, with its fencing
token: instances that still have the old settings deliver nothing any more. Where an instance holds the lease, it gives
it back at its next batch: run the command again then. What was copied already is passed over.

Afterwards write the new settings, and start with them: the documents are not paused there, unless they were before.`,
		Example: `  rowrelay state move --to state__kind=sql --to state__connection=ORDERS_DB
  rowrelay state move --to state__kind=table --to state__connection=AzureWebJobsStorage`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.moveState(cmd.Context(), to) },
	})
	cmd.Flags().StringArrayVar(&to, "to", nil, "a `setting` of the store to move to, as state__kind=sql; once for each")
	return cmd
}

func (t *target) moveState(ctx context.Context, to []string) error {
	return t.onApp(func(a *wiring.App) error {
		if err := errorOf(a.Config.Faults); err != nil {
			return err
		}
		if a.Store == nil {
			return fmt.Errorf("state__kind is not set: there is no store to move from")
		}
		target, err := t.storeSettings(a.Config, to)
		if err != nil {
			return err
		}
		store, closer, err := wiring.StoreOf(target)
		if err != nil {
			return err
		}
		defer func() { _ = closer() }() // what was to be written is written by now
		move := &admin.StoreMove{From: a.Store, To: store, Name: inspect.StoreName(target), App: a.Config.State.AppName,
			By: operator(), Log: auditLogger(t.console, a.Config)}
		plan, err := move.Plan(ctx)
		defer t.watch(&move.Progress)()
		return plaintext.Error(t.carryOut(ctx, a.Config.State.AppName, plan, err))
	})
}

// storeSettings reads the settings of a store as they would be: those of the environment without state__, and to.
func (t *target) storeSettings(was *config.App, to []string) (*config.State, error) {
	environ := []string{"state__app_name=" + was.State.AppName}
	for _, pair := range t.environ {
		if !strings.HasPrefix(strings.ToLower(pair), "state__") {
			environ = append(environ, pair)
		}
	}
	for _, pair := range to {
		name, _, ok := strings.Cut(pair, "=")
		if !ok || !strings.HasPrefix(strings.ToLower(name), "state__") || strings.EqualFold(name, "state__app_name") {
			return nil, commandline.Mistaken("--to takes a setting of the store, such as state__kind=sql, not %q", name)
		}
		environ = append(environ, pair)
	}
	app, _ := config.Load(environ) // its error is the faults that the App holds
	if err := errorOf(app.Faults); err != nil {
		return nil, err
	}
	switch {
	case app.State.Kind == "", app.State.Kind == "memory":
		return nil, commandline.Mistaken("--to state__kind=… must name a store that lasts: blob, table, sql or file")
	case inspect.StoreName(&app.State) == inspect.StoreName(&was.State):
		return nil, fmt.Errorf("the documents are in %s already", inspect.StoreName(&app.State))
	}
	return &app.State, nil
}

// errorOf is the first of some faults; nil for none.
func errorOf(faults config.Faults) error {
	if len(faults) == 0 {
		return nil
	}
	return faults[0]
}
