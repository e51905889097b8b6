package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDelays bounds a list of delays: past its end the last one repeats, so that more are of no use.
const maxDelays = 20

// delays takes durations between two that are themselves written so, separated by commas.
func delays(low, high, example string) kind {
	one := durations(low, high, example)
	mend := fmt.Sprintf("Write durations from %s to %s with their units, separated by commas, such as %s", low, high,
		example)
	return kind{word: fmt.Sprintf("list of durations, %s to %s", low, high), example: example,
		parse: func(s string) (any, *flaw) {
			parts := strings.Split(s, ",")
			if len(parts) > maxDelays {
				return nil, &flaw{fmt.Sprintf("lists more than %d durations", maxDelays), mend}
			}
			list := make([]time.Duration, len(parts))
			for i, part := range parts {
				part = strings.TrimSpace(part)
				if part == "" {
					return nil, &flaw{"has an empty place", mend}
				}
				v, f := one.parse(part)
				if f != nil {
					return nil, &flaw{fmt.Sprintf("holds %q, which %s", part, f.problem), mend}
				}
				list[i] = v.(time.Duration) //nolint:forcetypeassert,errcheck // what the kind above parses
			}
			return list, nil
		}}
}

// statuses takes HTTP statuses that are errors, separated by commas.
var statuses = kind{word: "list of HTTP statuses, 400 to 599", example: "400,413,422",
	parse: func(s string) (any, *flaw) {
		const mend = "Write HTTP statuses from 400 to 599, separated by commas, such as 400,413,422"
		var list []int
		for part := range strings.SplitSeq(s, ",") {
			part = strings.TrimSpace(part)
			n, err := strconv.Atoi(part)
			switch {
			case part == "":
				return nil, &flaw{"has an empty place", mend}
			case err != nil:
				return nil, &flaw{fmt.Sprintf("holds %q, which is not a whole number", part), mend}
			case n < 400 || n > 599:
				return nil, &flaw{fmt.Sprintf("holds %q, which is no status of an error", part), mend}
			case slices.Contains(list, n):
				return nil, &flaw{fmt.Sprintf("holds %d twice", n), mend}
			}
			list = append(list, n)
		}
		return list, nil
	}}

// operations takes what may happen to a row, separated by commas.
var operations = kind{word: "list of insert, update, delete", example: "insert,update",
	parse: func(s string) (any, *flaw) {
		const mend = "Write insert, update and delete, those that are wanted, separated by commas"
		var list []string
		for part := range strings.SplitSeq(s, ",") {
			part = strings.ToLower(strings.TrimSpace(part))
			switch {
			case part == "":
				return nil, &flaw{"has an empty place", mend}
			case part != "insert" && part != "update" && part != "delete":
				return nil, &flaw{fmt.Sprintf("holds %q, which is no operation", part), mend}
			case slices.Contains(list, part):
				return nil, &flaw{fmt.Sprintf("holds %s twice", part), mend}
			}
			list = append(list, part)
		}
		return list, nil
	}}
