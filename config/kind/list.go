package kind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// elements reads a list with commas between its elements. one reads an element, given those before it, or says what is
// wrong with the list.
func elements[T any](s, mend string, one func(part string, before []T) (T, string)) (any, *Flaw) {
	var list []T
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, &Flaw{"has an empty place", mend}
		}
		element, problem := one(part, list)
		if problem != "" {
			return nil, &Flaw{problem, mend}
		}
		list = append(list, element)
	}
	return list, nil
}

// holds is what is wrong with a list that holds one wrong element.
func holds(part, problem string) string { return fmt.Sprintf("holds %q, which %s", part, problem) }

// maxDelays bounds a list of delays: past its end the last one repeats, so that more are of no use.
const maxDelays = 20

// Delays takes durations between two that are themselves written so, separated by commas.
func Delays(low, high, example string) Kind {
	duration := Durations(low, high, example)
	mend := fmt.Sprintf("Write durations from %s to %s with their units, separated by commas, such as %s", low, high,
		example)
	one := func(part string, _ []time.Duration) (time.Duration, string) {
		v, f := duration.Parse(part)
		if f != nil {
			return 0, holds(part, f.Problem)
		}
		return v.(time.Duration), "" //nolint:forcetypeassert,errcheck // what Durations parses
	}
	return Kind{Word: fmt.Sprintf("list of durations, %s to %s", low, high), Example: example,
		Parse: func(s string) (any, *Flaw) {
			if strings.Count(s, ",") >= maxDelays {
				return nil, &Flaw{fmt.Sprintf("lists more than %d durations", maxDelays), mend}
			}
			return elements(s, mend, one)
		}}
}

// Statuses takes HTTP statuses that are errors, separated by commas.
var Statuses = Kind{Word: "list of HTTP statuses, 400 to 599", Example: "400,413,422",
	Parse: func(s string) (any, *Flaw) {
		const mend = "Write HTTP statuses from 400 to 599, separated by commas, such as 400,413,422"
		return elements(s, mend, func(part string, before []int) (int, string) {
			n, err := strconv.Atoi(part)
			switch {
			case err != nil:
				return 0, holds(part, "is not a whole number")
			case n < 400 || n > 599:
				return 0, holds(part, "is no status of an error")
			case slices.Contains(before, n):
				return 0, fmt.Sprintf("holds %d twice", n)
			}
			return n, ""
		})
	}}

// Operations takes what may happen to a row, separated by commas.
var Operations = Kind{Word: "list of insert, update, delete", Example: "insert,update",
	Parse: func(s string) (any, *Flaw) {
		const mend = "Write insert, update and delete, those that are wanted, separated by commas"
		return elements(strings.ToLower(s), mend, func(part string, before []string) (string, string) {
			switch {
			case part != "insert" && part != "update" && part != "delete":
				return "", holds(part, "is no operation")
			case slices.Contains(before, part):
				return "", "holds " + part + " twice"
			}
			return part, ""
		})
	}}
