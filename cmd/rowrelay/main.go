// Command rowrelay turns a table of an SQL database into an event source for Azure Functions.
//
// Rowrelay is not a native database trigger. It is a pseudo trigger built on Azure Functions timers. Delivery is
// at-least-once, and receivers must be idempotent.
//
// Each command is one file: it parses, asks and prints. Package wiring turns the configuration into pollers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	_ "time/tzdata" // source__time_zone works in images without a zone database

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/internal/heap"
)

// oneSignal is how long after the first another signal counts as the same: timeout(1) and make send one to the process,
// and one to its group.
const oneSignal = 500 * time.Millisecond

func main() {
	heap.Keep()
	// net/http writes there, past our log, what a receiver sends without being asked, which may be values of rows.
	log.SetOutput(io.Discard)
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a clean end; soon the default holds again, so that a second one ends it at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(oneSignal, restore) })
	err := execute(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	restore()
	if err == nil {
		return
	}
	var another *host.RestartError
	if errors.As(err, &another) {
		os.Exit(host.ExitRestart)
	}
	var quiet *exitError
	if !errors.As(err, &quiet) {
		fmt.Fprintln(os.Stderr, "rowrelay: "+err.Error())
	}
	os.Exit(exitCode(err))
}

// exitCode is 2 for a command line that makes no sense, so that a script can tell it from a failure, which is 1.
func exitCode(err error) int {
	if mistake := new(admin.Mistake); errors.As(err, &mistake) {
		return 2
	}
	return 1
}

// execute is the whole program: what main does, without the process around it.
func execute(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	root := newRoot(&console{environ: environ, in: stdin, out: stdout, err: stderr, stop: ctx.Done()})
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// smallest are settings that run, with nothing of Azure in them.
const smallest = `  SHOP_DB=sqlite:shop.db
  state__kind=file
  pollers__orders__source__connection=SHOP_DB
  pollers__orders__source__table=orders
  pollers__orders__source__cursor=version
  pollers__orders__output__kind=stdout`

func newRoot(c *console) *cobra.Command {
	asked := false // for the version
	root := &cobra.Command{
		Use:   "rowrelay",
		Short: "Turn a table of an SQL database into an event source for Azure Functions",
		Long: `Rowrelay reads the rows of a table that have changed, delivers them to an HTTP endpoint or a queue, and then moves
its checkpoint: when a row changes, a URL is called. It works with SQL Server, PostgreSQL, MySQL, MariaDB and SQLite,
as a custom handler of Azure Functions (rowrelay serve) or alone (rowrelay run).

` + disclosure + `

Settings are environment variables (app settings), such as pollers__orders__source__table=dbo.orders. All commands but
serve also read the Values of local.settings.json in the working directory, or one YAML file (--config).
docs/settings.md lists every setting, docs/glossary.md explains the words. These are
enough to begin with (the database may as well be postgres://…, mysql://… or sqlserver://…):

` + smallest,
		Example: `  rowrelay demo                 see it work, with nothing installed
  rowrelay init orders          write the settings of a first poller, by what the database's catalog says
  rowrelay check                prove the settings: connect, show the statement, the index and the first rows
  rowrelay run                  relay until Ctrl-C
  rowrelay outbox init events   the tables of a transactional outbox, for a poller with source__mode=outbox
  rowrelay functions            write <poller>/function.json for func start and func azure functionapp publish
  source <(rowrelay completion bash)    commands, pollers, outputs and flags by the Tab key; also for zsh, fish, ` +
			`powershell`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked {
				_, err := fmt.Fprintln(c.out, thisBuild())
				return err
			}
			// The host starts the executable without arguments unless host.json says otherwise.
			if c.env("FUNCTIONS_CUSTOMHANDLER_PORT") != "" {
				return serve(cmd.Context(), c, "")
			}
			return cmd.Help()
		},
	}
	// Not cobra's own, which is made of a template: see scripts/test.sh.
	root.Flags().BoolVarP(&asked, "version", "v", false, "version for rowrelay")
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.PersistentFlags().StringVar(&c.settings, "settings", "",
		"file whose Values are added to the environment (default local.settings.json where there is one)")
	root.PersistentFlags().StringVar(&c.config, "config", "",
		"YAML file whose settings are added to the environment, instead: see rowrelay config --help")
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON, for machines")
	root.AddCommand(newServe(c), newRun(c), newCheck(c), newState(c), newDeadLetter(c), newBackfill(c), newOutbox(c),
		newTrack(c), newStatus(c), newInit(c), newTail(c), newSchema(c), newTestEvent(c), newFunctions(c), newDemo(c),
		newConfig(c), newVersion(c), newMan(c))
	commandline.ExplainMistakes(root)
	commandline.Complete(root, c.unasked)
	return root
}
