package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/publisher"
)

// choiceOfEvents is what the flags that choose events say.
type choiceOfEvents struct {
	states, ids              []string
	aggregateType, aggregate string
	eventType                string
	olderThan, youngerThan   time.Duration
	limit                    int
}

// flags adds the flags that choose events. what is the default of --state, for people; limit that of --limit.
func (f *choiceOfEvents) flags(cmd *cobra.Command, what string, limit int) *cobra.Command {
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "only events in these states: "+strings.Join(stateNames(), ", ")+" (default "+what+")")
	cmd.Flags().StringSliceVar(&f.ids, "id", nil, "only the events with these numbers (seq; id of a mapped table) or idempotency keys")
	cmd.Flags().StringVar(&f.aggregateType, "aggregate-type", "", "only events of this aggregate type")
	cmd.Flags().StringVar(&f.aggregate, "aggregate", "", "only events of the aggregate with this id")
	cmd.Flags().StringVar(&f.eventType, "event-type", "", "only events of this type")
	cmd.Flags().DurationVar(&f.olderThan, "older-than", 0, "only events created longer ago than this: 24h")
	cmd.Flags().DurationVar(&f.youngerThan, "younger-than", 0, "only events created within this time")
	cmd.Flags().IntVar(&f.limit, "limit", limit, "the most events, the oldest first; 0 is all")
	return cmd
}

// stateFlags are the states as flags spell them.
var stateFlags = []struct {
	flag  string
	state publisher.State
}{
	{"pending", publisher.Pending}, {"publishing", publisher.Publishing}, {"published", publisher.Published}, {"failed", publisher.Failed},
	{"waiting", publisher.Waiting}, {"dead", publisher.Dead}, {"discarded", publisher.Discarded},
}

func stateNames() []string {
	names := make([]string, len(stateFlags))
	for i, s := range stateFlags {
		names[i] = s.flag
	}
	return names
}

// stateOf reads a state as the flag or the column spells it.
func stateOf(text string) (publisher.State, error) {
	for _, s := range stateFlags {
		if strings.EqualFold(text, s.flag) || strings.EqualFold(strings.NewReplacer("_", " ", "-", " ").Replace(text), string(s.state)) {
			return s.state, nil
		}
	}
	return "", fmt.Errorf("--state %q is not one of %s", text, strings.Join(stateNames(), ", "))
}

// filter is what the flags choose: of these states, unless --state says others; only of allowed ones (nil: any).
func (f *choiceOfEvents) filter(states, allowed []publisher.State) (publisher.Filter, error) {
	switch {
	case f.limit < 0:
		return publisher.Filter{}, errors.New("--limit must not be negative")
	case f.olderThan < 0, f.youngerThan < 0:
		return publisher.Filter{}, errors.New("--older-than and --younger-than must not be negative")
	case f.olderThan > 0 && f.youngerThan > 0 && f.olderThan >= f.youngerThan:
		return publisher.Filter{}, fmt.Errorf("no event is older than %s and younger than %s", f.olderThan, f.youngerThan)
	}
	chosen := publisher.Filter{
		States: states, IDs: f.ids, AggregateType: f.aggregateType, Aggregate: f.aggregate, EventType: f.eventType,
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
func flagsOf(states []publisher.State) string {
	var names []string
	for _, s := range stateFlags {
		if slices.Contains(states, s.state) {
			names = append(names, s.flag)
		}
	}
	return strings.Join(names, ", ")
}
