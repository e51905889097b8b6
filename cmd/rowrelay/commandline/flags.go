package commandline

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// OneOf refuses more than one of some flags.
func OneOf(given *pflag.FlagSet, names ...string) error {
	var both []string
	for _, name := range names {
		if given.Changed(name) {
			both = append(both, "--"+name)
		}
	}
	if len(both) > 1 {
		return Mistaken("%s do not go together: give one of them", strings.Join(both, " and "))
	}
	return nil
}

// NoneOf refuses flags that would do nothing, and says why.
func NoneOf(given *pflag.FlagSet, why string, names ...string) error {
	for _, name := range names {
		if given.Changed(name) {
			return Mistaken("--%s %s: leave it out", name, why)
		}
	}
	return nil
}

// OnceEach are values by their names, of which each may be given once: else the last would win without a word.
type OnceEach struct{ Values *map[string]string }

// Set takes name=value, or several with commas between them.
func (o OnceEach) Set(text string) error {
	pairs := []string{text} // commas and quotes of a value stand as they are where it is the only one
	if strings.Count(text, "=") > 1 {
		var err error
		if pairs, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return err
		}
	}
	if *o.Values == nil {
		*o.Values = map[string]string{}
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%s must be formatted as column=value", pair)
		}
		if _, again := (*o.Values)[name]; again {
			return fmt.Errorf("%s is given twice", name)
		}
		(*o.Values)[name] = value
	}
	return nil
}

// Type is said by help where the flag's text names no value.
func (OnceEach) Type() string { return "column=value" }

// String is the default, which is none.
func (OnceEach) String() string { return "" }

// Unsaid is an error where a flag that chooses was given with an empty value, or zero: in a script that is a variable
// which was not set, and the flag would restrict nothing. given is nil where there is no command line.
func Unsaid(given *pflag.FlagSet, names ...string) error {
	if given == nil {
		return nil
	}
	var faults []string
	given.Visit(func(flag *pflag.Flag) { // only those that were given
		if !slices.Contains(names, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		switch {
		case flag.Value.Type() == "duration":
			if d, err := time.ParseDuration(values[0]); err != nil || d == 0 {
				faults = append(faults, fmt.Sprintf("--%s is zero: give it a duration such as 24h, or leave it out for any age",
					flag.Name))
			}
		case flag.Value.Type() == "int":
			if values[0] == "0" && flag.DefValue == "0" { // where a limit is the default, 0 says that all are wanted
				faults = append(faults, fmt.Sprintf("--%s is zero: give it a number, or leave it out for all", flag.Name))
			}
		case len(values) == 0 || slices.Contains(values, ""):
			faults = append(faults, fmt.Sprintf("--%s is empty: give it a value, or leave it out to choose whatever it is",
				flag.Name))
		}
	})
	if len(faults) > 0 {
		return Mistaken("%s", strings.Join(faults, "; "))
	}
	return nil
}
