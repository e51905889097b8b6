package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/wiring"
)

func newOutboxInit(t *target) *cobra.Command {
	var apply, beside bool
	cmd := &cobra.Command{
		Use:   "init <poller>",
		Short: "Print, or apply, the DDL of the outbox table and of the claims table",
		Long: `Init prints the statements that create the outbox table (source__table), its indexes, and the table of claims beside it
(source__claims_table), in the dialect of the poller's database, ready to be read, changed and run by whoever may: ` +
			`with psql,
sqlcmd, mysql or sqlite3. With --apply it runs them itself; what exists already is left as it is.

For a table of your own that exists already only the tables beside it are created, one of claims and one of failed ` +
			`events: yours is
not touched. That is done where source__map__… is set or the database shows a table with other columns, and with ` +
			`--beside always;
what is printed without access to the database needs --beside.

With --apply the file of an SQLite database is created too.`,
		Example: `  rowrelay outbox init orders | psql "$ORDERS_DB"
  rowrelay outbox init orders | sqlcmd -S "$SERVER" -d shop
  rowrelay outbox init orders | mysql shop
  rowrelay outbox init orders | sqlite3 shop.db
  rowrelay outbox init orders --apply`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.initOutbox(cmd.Context(), args[0], apply, beside)
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "run the statements, instead of printing them")
	cmd.Flags().BoolVar(&beside, "beside", false, "only the tables beside the outbox: for a table of your own")
	return cmd
}

func (t *target) initOutbox(ctx context.Context, name string, apply, beside bool) error {
	cfg, err := load(t.console)
	if err != nil {
		return err
	}
	w, err := wiring.TableOf(cfg, name)
	if err != nil {
		return err
	}
	if apply {
		if err := createFile(w.Connection, w.Config.Source.ConnectionSetting); err != nil {
			return err
		}
	}
	var there publisher.Found
	if !beside && len(w.Config.Source.Map) == 0 {
		if there, err = findOutbox(ctx, w, apply); err != nil {
			return err
		}
	}
	foreign := there.Exists && !there.Own
	d, err := ddlOf(w, beside || foreign)
	if err != nil {
		return err
	}
	d.statements = append(d.statements, there.Lacks...)
	if foreign {
		d.note = fmt.Sprintf("%s exists, with columns of its own: only what goes beside it is created, as with --beside.",
			w.Config.Source.Table)
	}
	if !apply {
		return t.printInit(w, &d)
	}
	return t.applyInit(ctx, w, &d)
}

// lookTimeout bounds the look at the database before statements are printed: whoever prints them may have no access.
const lookTimeout = 3 * time.Second

// findOutbox looks what there is. Where statements are only printed, a database that cannot be asked is taken for one
// without the table.
func findOutbox(ctx context.Context, w *wiring.Poller, must bool) (publisher.Found, error) {
	if !must {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lookTimeout)
		defer cancel()
	}
	look, err := publisher.Find(ctx, w.Connection, w.Config.Source.Table)
	if err != nil && must {
		return look, plaintext.Error(fmt.Errorf("look whether %s exists: %w", w.Config.Source.Table, err))
	}
	if err != nil {
		return publisher.Found{}, nil //nolint:nilerr // whoever prints the statements may have no access
	}
	return look, nil
}

// ddl are the statements for a poller's tables, and which these are.
type ddl struct {
	statements []string
	tables     string
	note       string // why these
}

func ddlOf(w *wiring.Poller, beside bool) (d ddl, err error) {
	s := &w.Config.Source
	if beside || len(s.Map) > 0 {
		d.tables = s.ClaimsTable + " and the table of failed events beside it"
		d.statements, err = publisher.MappedDDL(w.Connection.Engine, s.Table, s.ClaimsTable)
		return d, err
	}
	d.tables = s.Table + " and " + s.ClaimsTable
	d.statements, err = publisher.DDL(w.Connection.Engine, s.Table, s.ClaimsTable)
	return d, err
}

func (t *target) printInit(w *wiring.Poller, d *ddl) error {
	if t.json {
		return printing.JSON(t.out, statements{w.Connection.Engine, d.statements})
	}
	p := &printing.Printer{W: t.out}
	p.Line("-- For the outbox of the poller %s on %s: %s.", w.Config.Name, w.Connection.Engine, plaintext.Line(d.tables))
	if d.note != "" {
		p.Line("-- %s", plaintext.Line(d.note))
	}
	p.Line("-- What exists already is left as it is. `rowrelay outbox init %s --apply` runs the same.", w.Config.Name)
	for _, statement := range d.statements {
		p.Line("\n%s;", trimmed(statement))
		if w.Connection.Engine == "sqlserver" {
			p.Line("GO") // a batch is compiled as a whole: an index on a column of the statement before would not be
		}
	}
	return p.Err
}

// applyInit runs the statements one after the other. One that fails ends it; those before it stand, and are skipped
// next time.
func (t *target) applyInit(ctx context.Context, w *wiring.Poller, d *ddl) error {
	if d.note != "" {
		if err := t.say("%s", d.note); err != nil {
			return err
		}
	}
	db := w.Connection.WriteDB(1)
	defer func() { _ = db.Close() }() // nothing is under way
	for i, statement := range d.statements {
		title := firstWords(statement)
		if err := t.say("%d/%d  %s", i+1, len(d.statements), title); err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, max(initTimeout, w.Config.Source.Timeout))
		_, err := db.ExecContext(bounded, statement)
		cancel()
		if err != nil {
			if ctx.Err() != nil {
				err = errors.New("it was stopped: run the same command again")
			}
			return plaintext.Error(fmt.Errorf("statement %d of %d (%s): %w", i+1, len(d.statements), title, err))
		}
	}
	return t.done("done: %s are there; rowrelay check %s proves it", d.tables, w.Config.Name)
}

func trimmed(statement string) string { return strings.TrimRight(strings.TrimSpace(statement), "; \n") }

// firstWords are the beginning of a statement, for progress.
func firstWords(statement string) string {
	const most = 90
	text := strings.Join(strings.Fields(statement), " ")
	if head, _, ok := strings.Cut(text, "("); ok && len(head) > 0 && len(head) <= most {
		return strings.TrimSpace(head)
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
