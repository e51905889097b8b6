package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/publisher/event"
)

// choiceOfEvents is what the flags that choose events say.
type choiceOfEvents struct {
	states, ids, keys        []string
	aggregateType, aggregate string
	eventType                string
	olderThan, youngerThan   time.Duration
	limit                    int
	given                    *pflag.FlagSet // nil: not from a command line
}

// flags adds the flags that choose events. what is the default of --state, for people; limit that of --limit.
func (f *choiceOfEvents) flags(cmd *cobra.Command, what string, limit int) *cobra.Command {
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "only events in these states: "+strings.Join(stateNames(), ", ")+" (default "+what+")")
	cmd.Flags().StringArrayVar(&f.ids, "id", nil, "only the event with this seq, of a mapped table: with this id; may be repeated")
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, "only the event with this idempotency key; may be repeated")
	cmd.Flags().StringVar(&f.aggregateType, "aggregate-type", "", "only events of this aggregate type")
	cmd.Flags().StringVar(&f.aggregate, "aggregate", "", "only events of the aggregate with this id")
	cmd.Flags().StringVar(&f.eventType, "event-type", "", "only events of this type")
	cmd.Flags().DurationVar(&f.olderThan, "older-than", 0, "only events created longer ago than this: 24h")
	cmd.Flags().DurationVar(&f.youngerThan, "younger-than", 0, "only events created within this time")
	cmd.Flags().IntVar(&f.limit, "limit", limit, "the most events, the oldest first"+map[bool]string{true: "; 0 is all"}[limit > 0])
	f.given = cmd.Flags()
	return cmd
}

// stateFlags are the states as flags spell them.
var stateFlags = []struct {
	flag  string
	state event.State
}{
	{"pending", event.Pending}, {"publishing", event.Publishing}, {"published", event.Published}, {"failed", event.Failed},
	{"waiting", event.Waiting}, {"dead", event.Dead}, {"discarded", event.Discarded},
}

func stateNames() []string {
	names := make([]string, len(stateFlags))
	for i, s := range stateFlags {
		names[i] = s.flag
	}
	return names
}

// stateOf reads a state as the flag or the column spells it.
func stateOf(text string) (event.State, error) {
	for _, s := range stateFlags {
		if strings.EqualFold(text, s.flag) || strings.EqualFold(strings.NewReplacer("_", " ", "-", " ").Replace(text), string(s.state)) {
			return s.state, nil
		}
	}
	return "", fmt.Errorf("--state %q is not one of %s", text, strings.Join(stateNames(), ", "))
}

// unsaid is an error where a flag that chooses was given with an empty value, or zero: in a script that is a variable which was
// not set, and the flag would restrict nothing. given is nil where there is no command line.
func unsaid(given *pflag.FlagSet, names ...string) error {
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
				faults = append(faults, fmt.Sprintf("--%s is zero: give it a duration such as 24h, or leave it out for any age", flag.Name))
			}
		case flag.Value.Type() == "int":
			if values[0] == "0" && flag.DefValue == "0" { // where a limit is the default, 0 says that all are wanted
				faults = append(faults, fmt.Sprintf("--%s is zero: give it a number, or leave it out for all", flag.Name))
			}
		case len(values) == 0 || slices.Contains(values, ""):
			faults = append(faults, fmt.Sprintf("--%s is empty: give it a value, or leave it out to choose whatever it is", flag.Name))
		}
	})
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// filter is what the flags choose: of these states, unless --state says others; only of allowed ones (nil: any).
func (f *choiceOfEvents) filter(states, allowed []event.State) (event.Filter, error) {
	if err := unsaid(f.given, "state", "id", "key", "aggregate-type", "aggregate", "event-type", "older-than", "younger-than", "limit"); err != nil {
		return event.Filter{}, err
	}
	switch {
	case f.limit < 0:
		return event.Filter{}, errors.New("--limit must not be negative")
	case f.olderThan < 0, f.youngerThan < 0:
		return event.Filter{}, errors.New("--older-than and --younger-than must not be negative")
	case f.olderThan > 0 && f.youngerThan > 0 && f.olderThan >= f.youngerThan:
		return event.Filter{}, fmt.Errorf("no event is older than %s and younger than %s", f.olderThan, f.youngerThan)
	}
	chosen := event.Filter{
		States: states, IDs: f.ids, Keys: f.keys, AggregateType: f.aggregateType, Aggregate: f.aggregate, EventType: f.eventType,
		OlderThan: f.olderThan, YoungerThan: f.youngerThan, Limit: f.limit,
	}
	if len(f.states) == 0 {
		return chosen, nil
	}
	chosen.States = nil
	for _, text := range f.states {
		s, err := stateOf(text)
		if err != nil {
			return chosen, err
		}
		if allowed != nil && !slices.Contains(allowed, s) {
			return chosen, fmt.Errorf("--state %s cannot be changed by this command: only %s", text, flagsOf(allowed))
		}
		chosen.States = append(chosen.States, s)
	}
	return chosen, nil
}

// flagsOf are states as flags spell them.
func flagsOf(states []event.State) string {
	var names []string
	for _, s := range stateFlags {
		if slices.Contains(states, s.state) {
			names = append(names, s.flag)
		}
	}
	return strings.Join(names, ", ")
}
