// Package commandline is what every command line has: mistakes and what is said of them, flags that exclude each other,
// and what a shell may complete.
package commandline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/admin"
)

// Mistaken is a command line that makes no sense.
func Mistaken(format string, args ...any) error {
	return &admin.Mistake{Text: fmt.Sprintf(format, args...)}
}

// asText is the annotation of a command that cannot print JSON: what it prints instead.
const asText = "prints"

// PrintsOnly marks a command that cannot print JSON. Where --json did nothing, a script would read something else.
func PrintsOnly(what string, cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{asText: what}
	return cmd
}

// EveryCommand lists the tree, each command before those below it.
func EveryCommand(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		list = append(list, EveryCommand(cmd)...)
	}
	return list
}

// ExplainMistakes makes a mistyped command, flag or argument an error that says what to write. By default cobra shows
// the help of a command that only has others below it, and succeeds: in a script "rowrelay state pasue orders" would
// look as if it had paused something.
func ExplainMistakes(root *cobra.Command) {
	root.InitDefaultHelpCmd() // else cobra adds the two later, with its own ways
	root.InitDefaultCompletionCmd()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Mistaken("%v: %s --help lists the flags", err, cmd.CommandPath())
	})
	for _, cmd := range EveryCommand(root) {
		switch {
		case cmd.Name() == "help":
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				found, rest, _ := cmd.Root().Find(args) // its error is that there is a rest
				return noSuchCommand(found, rest)
			}
			continue
		case !cmd.HasSubCommands():
			cmd.Args = withUsage(cmd.Args)
			continue
		}
		cmd.Args = noSuchCommand
		if cmd.SuggestionsMinimumDistance == 0 {
			cmd.SuggestionsMinimumDistance = 2
		}
		if !cmd.Runnable() {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// withUsage says how a command is written where it is given other arguments than it takes. accept is nil where it takes
// any.
func withUsage(accept cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		path := cmd.CommandPath()
		if as := cmd.Annotations[asText]; as != "" && cmd.Flags().Changed("json") {
			return Mistaken("%s prints %s, and no JSON: leave --json out", path, as)
		}
		if accept == nil || accept(cmd, args) == nil {
			return nil
		}
		return Mistaken("%s does not take %d argument(s): write %s", path, len(args),
			strings.TrimSuffix(path, cmd.Name())+cmd.Use)
	}
}

// noSuchCommand refuses arguments where a command belongs.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	path := cmd.CommandPath()
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return Mistaken("there is no command %s %s: did you mean %s %s?", path, args[0], path,
			strings.Join(near, " or "+path+" "))
	}
	return Mistaken("there is no command %s %s: %s --help lists those that there are", path, args[0], path)
}
