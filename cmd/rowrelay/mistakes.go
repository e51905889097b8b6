package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// explainMistakes makes a mistyped command or flag an error that says what was meant. cobra shows the help of a command that
// only has others below it, and succeeds: in a script "rowrelay state pasue orders" would look as if it had paused something.
func explainMistakes(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w: %s --help lists the flags", err, cmd.CommandPath())
	})
	for _, cmd := range everyCommand(root) {
		if !cmd.HasSubCommands() {
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

// noSuchCommand refuses arguments where a command belongs.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	path := cmd.CommandPath()
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %s %s: did you mean %s %s?", path, args[0], path, strings.Join(near, " or "+path+" "))
	}
	return fmt.Errorf("there is no command %s %s: %s --help lists those that there are", path, args[0], path)
}
