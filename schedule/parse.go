package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A field is one of the six, with the values it may have.
type field struct {
	name      string
	low, high int
	names     []string // of the values from low on; nil where only numbers are known
}

// fields is read only.
var fields = [6]field{
	{name: "second", high: 59},
	{name: "minute", high: 59},
	{name: "hour", high: 23},
	{name: "day of month", low: 1, high: 31},
	{name: "month", low: 1, high: 12, names: []string{
		"january", "february", "march", "april", "may", "june",
		"july", "august", "september", "october", "november", "december",
	}},
	{name: "day of week", high: 6, names: []string{
		"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
	}},
}

// Parse reads an NCRONTAB expression. Its error names the expression, the field and what to write
// instead. An expression whose dates do not exist parses, and never fires.
func Parse(expr string) (*Schedule, error) {
	tokens := strings.FieldsFunc(expr, func(r rune) bool { return r == ' ' })
	switch len(tokens) {
	case 6:
	case 5:
		tokens = append([]string{"0"}, tokens...)
	default:
		return nil, fmt.Errorf("schedule %q has %d fields: write 6 (second minute hour day-of-month month day-of-week, "+
			"such as \"*/10 * * * * *\" for every 10 seconds), or 5 without the second%s", expr, len(tokens), hint(expr))
	}
	var sets [6]uint64
	for i, token := range tokens {
		set, err := fields[i].parse(token)
		if err != nil {
			return nil, fmt.Errorf("schedule %q: %s %q: %w", expr, fields[i].name, token, err)
		}
		sets[i] = set
	}
	return &Schedule{
		expr: expr, second: sets[0], minute: sets[1], hour: sets[2], day: sets[3], month: sets[4], weekday: sets[5],
	}, nil
}

// hint explains the foreign forms that people bring along.
func hint(expr string) string {
	switch {
	case strings.HasPrefix(expr, "@"), strings.Contains(expr, "TZ="):
		return "; NCRONTAB has no @ macros and no TZ=, and all times are UTC"
	case strings.Count(expr, ":") == 2:
		return "; a time span such as 00:05:00 is not an NCRONTAB expression"
	default:
		return ""
	}
}

// parse returns the set of values that a comma list names.
func (f field) parse(list string) (uint64, error) {
	var set uint64
	for item := range strings.SplitSeq(list, ",") {
		lo, hi, step, err := f.item(item)
		if err != nil {
			return 0, err
		}
		for v := lo; v <= hi; v += step {
			set |= 1 << v
		}
	}
	return set, nil
}

// item reads one item of a list as the values lo, lo+step … up to hi.
func (f field) item(item string) (lo, hi, step int, err error) {
	values, every, stepped := strings.Cut(item, "/")
	step = 1
	if stepped {
		if step, err = strconv.Atoi(every); err != nil {
			return 0, 0, 0, fmt.Errorf("the step after / must be a number, such as %s/5", values)
		}
		// At most one past the highest value: a huge step means "only the first" and must not overflow.
		step = min(max(step, 1), f.high+1)
	}
	first, last, ranged := strings.Cut(values, "-")
	switch {
	case values == "*":
		return f.low, f.high, step, nil
	case ranged:
		if lo, err = f.value(first); err != nil {
			return 0, 0, 0, err
		}
		if hi, err = f.value(last); err != nil {
			return 0, 0, 0, err
		}
		return min(lo, hi), max(lo, hi), step, nil
	default:
		lo, err = f.value(values)
		hi = lo
		if stepped {
			hi = f.high
		}
		return lo, hi, step, err
	}
}

// value reads one number or name.
func (f field) value(s string) (int, error) {
	switch {
	case s == "":
		return 0, fmt.Errorf("a value is missing: write a number from %d to %d, or * for all", f.low, f.high)
	case s[0] >= '0' && s[0] <= '9':
		v, err := strconv.Atoi(s)
		switch {
		case errors.Is(err, strconv.ErrSyntax):
			return 0, fmt.Errorf("%q is not a number", s)
		case err != nil, v < f.low, v > f.high:
			return 0, fmt.Errorf("%s is out of range: write %d to %d%s", s, f.low, f.high, f.sunday())
		}
		return v, nil
	}
	for i, name := range f.names {
		if strings.HasPrefix(name, strings.ToLower(s)) {
			return f.low + i, nil
		}
	}
	switch {
	case strings.ContainsAny(s, "?LW#"):
		return 0, fmt.Errorf("NCRONTAB has no ? L W or #: write numbers from %d to %d, or * for all", f.low, f.high)
	case f.names != nil:
		return 0, fmt.Errorf("%q is neither a number from %d to %d nor the beginning of one of %s",
			s, f.low, f.high, strings.Join(f.names, ", "))
	default:
		return 0, fmt.Errorf("%q is not a number from %d to %d", s, f.low, f.high)
	}
}

func (f field) sunday() string {
	if f.name == "day of week" {
		return " (Sunday is 0)"
	}
	return ""
}
