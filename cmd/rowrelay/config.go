package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/config/nested"
	"github.com/rowrelay/rowrelay/printing"
)

func newConfig(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Convert settings between one YAML file and the environment",
		Long: `Settings may stand in one YAML file, under the names of docs/settings.md, nested where these have two underscores:

  state:
    kind: file
  pollers:
    orders:
      source: {connection: SHOP_DB, table: orders, cursor: version}
      output: {kind: http, url: https://example.com/hooks/orders}
  env:
    SHOP_DB: sqlite:shop.db

Every command but serve and init takes it: rowrelay run --config rowrelay.yaml. It is read instead of ` +
			`local.settings.json,
and the environment wins over it. Below env stand variables that are no settings of Rowrelay's, such as connections.
Secrets need not be in it: token_FILE names a file, '%NAME%' (in quotes) a variable of the environment, and a connection
is a name that the environment may have.`,
	}
	cmd.AddCommand(newToYAML(c), newToEnv(c))
	return cmd
}

// tablesFlag is said by what both ways of conversion have in common.
func tablesFlag(cmd *cobra.Command, tables *bool) *cobra.Command {
	cmd.Flags().BoolVar(tables, "tables", false,
		"write pollers of source__tables as one for each table that the database has now")
	return cmd
}

func newToYAML(c *console) *cobra.Command {
	var tables bool
	return tablesFlag(commandline.PrintsOnly("YAML", &cobra.Command{
		Use:   "to-yaml",
		Short: "Print settings as a YAML file",
		Long: `To-yaml prints what --settings names; without it the settings of the environment and of local.settings.json. Of
other variables it takes those of the file only: what the environment has, it goes on having. Values are copied as they
are, secrets too.`,
		Example: `  rowrelay config to-yaml > rowrelay.yaml
  rowrelay config to-yaml --settings local.settings.json > rowrelay.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := c.given(tables)
			if err != nil {
				return err
			}
			data, err := nested.Format(list)
			if err != nil {
				return err
			}
			_, err = c.out.Write(data)
			return err
		},
	}), &tables)
}

func newToEnv(c *console) *cobra.Command {
	var tables bool
	return tablesFlag(&cobra.Command{
		Use:   "to-env",
		Short: "Print settings as variables of a shell, or as local.settings.json",
		Long: `To-env prints a line for each variable of the file that --config (or --settings) names, in quotes where a shell needs
them: for set -a; . FILE, EnvironmentFile= of systemd, env_file of compose. With --json it prints the same as a
local.settings.json, whose Values are the app settings of a Function App. Values are copied as they are, secrets too.`,
		Example: `  rowrelay config to-env --config rowrelay.yaml > rowrelay.env
  rowrelay config to-env --config rowrelay.yaml --json > local.settings.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := c.given(tables)
			if err != nil {
				return err
			}
			if !c.json {
				return c.printVariables(list)
			}
			values := map[string]string{}
			for _, pair := range list {
				name, value, _ := strings.Cut(pair, "=")
				values[name] = value
			}
			return printing.JSON(c.out, struct {
				IsEncrypted bool
				Values      map[string]string
			}{Values: values})
		},
	}, &tables)
}

// given are the settings to convert: those of a file that was named, or else those that the environment and
// local.settings.json make together.
func (c *console) given(tables bool) ([]string, error) {
	list, err := c.fileSettings()
	if err != nil {
		return nil, err
	}
	all := config.Merge(c.environ, list)
	if c.config == "" && c.settings == "" {
		list = config.Merge(slices.DeleteFunc(slices.Clone(c.environ), func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			return !config.Ours(name)
		}), list)
	}
	switch {
	case len(list) == 0:
		return nil, errors.New("there are no settings: name their file with --settings or --config")
	case !tables:
		return list, nil
	}
	app, expanded := config.LoadTables(all, c.tables)
	for _, p := range app.Pollers {
		if p.Source.Tables != "" {
			return nil, p.Faults
		}
	}
	others := map[string]bool{} // of the environment: there they stay
	for _, pair := range all {
		others[pair] = true
	}
	for _, pair := range list {
		delete(others, pair)
	}
	return slices.DeleteFunc(expanded, func(pair string) bool { return others[pair] }), nil
}

var (
	plainVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainValue    = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]*$`)
)

var inDoubleQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")

// printVariables prints lines that a shell reads, and systemd and Compose as well: all of them, or none where one
// cannot be.
func (c *console) printVariables(list []string) error {
	var lines strings.Builder
	for _, pair := range list {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case !plainVariable.MatchString(name):
			return fmt.Errorf("%s cannot be a variable of a shell: print local.settings.json with --json, or keep YAML", name)
		case strings.Contains(value, "'"), strings.HasSuffix(value, `\`):
			// Compose ends a text in single quotes at the next one, unless a backslash stands before it.
			value = `"` + inDoubleQuotes.Replace(value) + `"`
		case !plainValue.MatchString(value):
			value = "'" + value + "'"
		}
		fmt.Fprintf(&lines, "%s=%s\n", name, value)
	}
	_, err := io.WriteString(c.out, lines.String())
	return err
}
