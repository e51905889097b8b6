package main

import (
	"bufio"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/telemetry"
)

// console is what the commands see of the process.
type console struct {
	environ  []string
	in       io.Reader
	out, err io.Writer
	settings string // --settings
	json     bool   // --json
	// lines are what is typed, from the first question on: a reader of its own for each would swallow the answers to the next.
	lines *bufio.Reader
	stop  <-chan struct{} // closed by the first Ctrl-C; nil never is
	// telemetry exports what the ticks of serve and run do; nil for nothing, and for every other command.
	telemetry *telemetry.Telemetry
	// cut gives up requests under way when it ends, for serve; nil never does.
	cut context.Context //nolint:containedctx // it belongs to the process, as stop does
}

// functionApp is the Function App that the environment describes.
func (c *console) functionApp() host.App { return host.AppOf(c.environ) }

// env returns an environment variable, "" when it is not set.
func (c *console) env(name string) string { return host.App{Environ: c.environ}.Env(name) }

// disclosure is what the seed demands to be said wherever a user begins (seeds/003, §14).
const disclosure = `Rowrelay is not a native database trigger. It is a pseudo trigger built on Azure Functions timers.
Delivery is at-least-once: an event may arrive more than once, and receivers must be idempotent.`

// smallest are settings that run, with nothing of Azure in them.
const smallest = `  SHOP_DB=sqlite:shop.db
  state__kind=file
  pollers__orders__source__connection=SHOP_DB
  pollers__orders__source__table=orders
  pollers__orders__source__cursor=version
  pollers__orders__output__kind=http
  pollers__orders__output__url=https://example.com/hooks/orders`

func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "rowrelay",
		Short: "Turn a table of an SQL database into an event source for Azure Functions",
		Long: `Rowrelay reads the rows of a table that have changed, delivers them to an HTTP endpoint or a queue, and then moves
its checkpoint: when a row changes, a URL is called. It works with SQL Server, PostgreSQL, MySQL, MariaDB and SQLite,
as a custom handler of Azure Functions (rowrelay serve) or alone (rowrelay run).

` + disclosure + `

Settings are environment variables (app settings), such as pollers__orders__source__table=dbo.orders. All commands but
serve also read the Values of local.settings.json in the working directory. docs/settings.md lists every setting. These are
enough to begin with (the database may as well be postgres://…, mysql://… or sqlserver://…):

` + smallest,
		Example: `  rowrelay demo                 see it work, with nothing installed
  rowrelay check                prove the settings: connect, show the statement, the index and the first rows
  rowrelay run                  relay until Ctrl-C
  rowrelay outbox init events   the tables of a transactional outbox, for a poller with source__mode=outbox
  rowrelay functions            write <poller>/function.json for func start and func azure functionapp publish
  source <(rowrelay completion bash)    commands, pollers, outputs and flags by the Tab key; also for zsh, fish, powershell`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The host starts the executable without arguments unless host.json says otherwise.
			if c.env("FUNCTIONS_CUSTOMHANDLER_PORT") != "" {
				return serve(cmd.Context(), c, "")
			}
			return cmd.Help()
		},
	}
	root.PersistentFlags().StringVar(&c.settings, "settings", "", "file whose Values are added to the environment (default local.settings.json where there is one)")
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON, for machines")
	root.AddCommand(newServe(c), newRun(c), newCheck(c), newState(c), newDeadLetter(c), newBackfill(c), newOutbox(c), newStatus(c), newFunctions(c), newDemo(c), newVersion(c), newMan(c))
	explainMistakes(root)
	addCompletion(c, root)
	return root
}
