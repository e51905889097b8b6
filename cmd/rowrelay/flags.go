package main

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mistaken is a command line that makes no sense.
func mistaken(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// asText is the annotation of a command that cannot print JSON: what it prints instead.
const asText = "prints"

// printsOnly marks a command that cannot print JSON. Where --json did nothing, a script would read something else.
func printsOnly(what string, cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{asText: what}
	return cmd
}

// oneOf refuses more than one of some flags.
func oneOf(given *pflag.FlagSet, names ...string) error {
	var both []string
	for _, name := range names {
		if given.Changed(name) {
			both = append(both, "--"+name)
		}
	}
	if len(both) > 1 {
		return mistaken("%s do not go together: give one of them", strings.Join(both, " and "))
	}
	return nil
}

// noneOf refuses flags that would do nothing, and says why.
func noneOf(given *pflag.FlagSet, why string, names ...string) error {
	for _, name := range names {
		if given.Changed(name) {
			return mistaken("--%s %s: leave it out", name, why)
		}
	}
	return nil
}

// onceEach are values by their names, of which each may be given once: else the last would win without a word.
type onceEach struct{ values *map[string]string }

// Set takes name=value, or several with commas between them.
func (o onceEach) Set(text string) error {
	pairs := []string{text} // commas and quotes of a value stand as they are where it is the only one
	if strings.Count(text, "=") > 1 {
		var err error
		if pairs, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return err
		}
	}
	if *o.values == nil {
		*o.values = map[string]string{}
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%s must be formatted as column=value", pair)
		}
		if _, again := (*o.values)[name]; again {
			return fmt.Errorf("%s is given twice", name)
		}
		(*o.values)[name] = value
	}
	return nil
}

// Type is said by help where the flag's text names no value.
func (onceEach) Type() string { return "column=value" }

// String is the default, which is none.
func (onceEach) String() string { return "" }
