package commandline

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
)

// Completion asks the settings, never a database, a store or a broker: a shell waits for it at every Tab. It says all
// that may stand in a place; the scripts of the shells drop what does not begin with what is typed.

// Settings reads the settings as a command would, without a question to a database.
type Settings func() (*config.App, error)

// Complete tells cobra what may stand at each argument and flag of the tree. What an argument is, its Use says:
// "<poller>", "[poller ...]", "<file>". So a command that is added needs nothing here, and a flag only where its values
// are known.
func Complete(root *cobra.Command, settings Settings) {
	for _, cmd := range EveryCommand(root) {
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			cmd.ValidArgsFunction = settings.argumentsOf(cmd)
		}
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) { settings.addFlagCompletion(cmd, f) })
		}
	}
}

// placeholders are the words of a command's Use after its name: "<new poller>" is one word.
func placeholders(use string) (words []string) {
	_, rest, _ := strings.Cut(use, " ")
	for rest = strings.TrimLeft(rest, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		var end int
		switch rest[0] {
		case '<':
			end = strings.IndexByte(rest, '>') + 1
		case '[':
			end = strings.IndexByte(rest, ']') + 1
		default: // a flag that the command is nothing without
			return words
		}
		if end == 0 {
			return words
		}
		words = append(words, rest[:end])
		rest = rest[end:]
	}
	return words
}

// argumentsOf completes the arguments of a command.
func (settings Settings) argumentsOf(cmd *cobra.Command) cobra.CompletionFunc {
	words := placeholders(cmd.Use)
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		word := ""
		switch {
		case len(args) < len(words):
			word = words[len(args)]
		case len(words) > 0 && strings.HasSuffix(words[len(words)-1], "...]"):
			word = words[len(words)-1]
		}
		switch word {
		case "<poller>", "[poller ...]":
			return settings.pollerNames(cmd, args), cobra.ShellCompDirectiveNoFileComp
		case "<file>":
			return nil, cobra.ShellCompDirectiveDefault
		default: // the id of an event, the name of something new
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// pollerNames are the pollers of the settings that are not named yet; below "rowrelay outbox" only outboxes.
func (settings Settings) pollerNames(cmd *cobra.Command, taken []string) []cobra.Completion {
	cfg, err := settings()
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil
	}
	var names []cobra.Completion
	for _, p := range cfg.Pollers {
		unfit := strings.HasPrefix(cmd.CommandPath(), "rowrelay outbox ") && !p.Source.Mode.Can(mode.Marks)
		if unfit || slices.Contains(taken, p.Name) {
			continue
		}
		names = append(names, cobra.CompletionWithDesc(p.Name, pollerText(p)))
	}
	return names
}

// pollerText says what a poller reads, without what may be a secret.
func pollerText(p *config.Poller) string {
	switch {
	case p.Source.Table != "":
		return p.Source.Table + " of " + p.Source.ConnectionSetting
	case p.Source.Query != "":
		return "a query of " + p.Source.ConnectionSetting
	default:
		return "its settings have faults"
	}
}

// outputNames are the further outputs of the poller that was named.
func (settings Settings) outputNames(args []string) []cobra.Completion {
	cfg, err := settings()
	if err != nil || len(args) == 0 {
		return nil
	}
	p := cfg.Poller(strings.ToLower(args[0]))
	if p == nil {
		return nil
	}
	var names []cobra.Completion
	for i := range p.Outputs {
		if out := &p.Outputs[i]; out.Name != "" {
			names = append(names, cobra.CompletionWithDesc(out.Name, out.Kind))
		}
	}
	return names
}

// FlagValues are the flags that take one of few values, by the name of the flag. Before a flag that is not the same
// everywhere stands the command.
var FlagValues = map[string][]cobra.Completion{
	"state reset --to": {"beginning", "latest", "snapshot", "cursor=", "file="},
	"backfill --from":  {"beginning", "cursor="},
	"backfill --to":    {"latest", "cursor="},
	"--ties":           {"before", "after"},
	"--parked":         {"keep", "drop"},
	"--cause":          {poller.Refused.String(), poller.Unavailable.String(), poller.Impossible.String()},
	"--state":          admin.AllStates(),
	"demo --connection": {
		cobra.CompletionWithDesc("postgres://", "PostgreSQL"), cobra.CompletionWithDesc("mysql://", "MySQL or MariaDB"),
		cobra.CompletionWithDesc("sqlserver://", "SQL Server or Azure SQL"),
	},
}

// addFlagCompletion completes the value of a flag. Without it the shell would offer the files of the working directory.
func (settings Settings) addFlagCompletion(cmd *cobra.Command, f *pflag.Flag) {
	if f.NoOptDefVal != "" { // a switch: it takes no value
		return
	}
	path := strings.TrimPrefix(cmd.CommandPath(), "rowrelay ") + " --" + f.Name
	values, known := FlagValues[path]
	if !known {
		values = FlagValues["--"+f.Name]
	}
	complete := cobra.FixedCompletions(values, directiveOf(values))
	switch f.Name {
	case "output":
		complete = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return settings.outputNames(args), cobra.ShellCompDirectiveNoFileComp
		}
	case "config":
		complete = cobra.FixedCompletions([]cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	case "settings":
		complete = cobra.FixedCompletions([]cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt)
	case "dir":
		complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	// It fails only where the command has said itself what completes its flag: that stays.
	_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
}

// directiveOf keeps the shell from putting a space after a value that is only the beginning of one.
func directiveOf(values []cobra.Completion) cobra.ShellCompDirective {
	for _, v := range values {
		text, _, _ := strings.Cut(v, "\t")
		if strings.HasSuffix(text, "=") || strings.HasSuffix(text, "://") {
			return cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
	}
	return cobra.ShellCompDirectiveNoFileComp
}
