package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// kind is the type of a setting's value.
type kind struct {
	// word names the type in the reference, example is a value.
	word, example string
	// hidden values are never printed, not even in their own fault.
	hidden bool
	// parse returns the value in the type of its field. It is given a value that is not empty.
	parse func(string) (any, *flaw)
}

// flaw is what is wrong with a value: problem continues "the value …", mend is a sentence without its full stop.
type flaw struct{ problem, mend string }

// text takes any value.
func text(word, example string) kind {
	return kind{word: word, example: example, parse: func(s string) (any, *flaw) { return s, nil }}
}

// oneOf takes one of some words, in any case of letters.
func oneOf(words ...string) kind {
	mend := "Write " + orList(words)
	return kind{word: strings.Join(words, ", "), example: words[0], parse: func(s string) (any, *flaw) {
		for _, w := range words {
			if strings.EqualFold(w, s) {
				return w, nil
			}
		}
		return nil, &flaw{"is none of the values that this setting takes", mend}
	}}
}

// flag takes true and false.
var flag = kind{word: "true or false", example: "true", parse: func(s string) (any, *flaw) {
	switch strings.ToLower(s) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return nil, &flaw{"is neither true nor false", "Write true or false"}
}}

// whole takes whole numbers.
func whole(low, high int, example string) kind {
	mend := fmt.Sprintf("Write a whole number from %d to %d, such as %s", low, high, example)
	return kind{word: fmt.Sprintf("number, %d to %d", low, high), example: example, parse: func(s string) (any, *flaw) {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return nil, &flaw{"is not a whole number", mend}
		case n < low:
			return nil, &flaw{fmt.Sprintf("is less than %d", low), mend}
		case n > high:
			return nil, &flaw{fmt.Sprintf("is more than %d", high), mend}
		}
		return n, nil
	}}
}

// durations takes Go's durations between two that are themselves written so.
func durations(low, high, example string) kind {
	lowest, highest := mustDuration(low), mustDuration(high)
	mend := fmt.Sprintf("Write a duration from %s to %s with its unit, such as %s", low, high, example)
	return kind{word: fmt.Sprintf("duration, %s to %s", low, high), example: example, parse: func(s string) (any, *flaw) {
		d, err := time.ParseDuration(s)
		_, noUnit := strconv.ParseFloat(s, 64)
		switch {
		case err != nil && noUnit == nil:
			return nil, &flaw{"has no unit", mend}
		case err != nil:
			return nil, &flaw{"is not a duration", mend}
		case d < lowest:
			return nil, &flaw{"is shorter than " + low, mend}
		case d > highest:
			return nil, &flaw{"is longer than " + high, mend}
		}
		return d, nil
	}}
}

// orZero also takes 0, which switches something off.
func orZero(k kind) kind {
	parse := k.parse
	k.word = "0 or " + k.word
	k.parse = func(s string) (any, *flaw) {
		if d, err := time.ParseDuration(s); err == nil && d == 0 {
			return d, nil
		}
		v, f := parse(s)
		if f != nil {
			f.mend = strings.Replace(f.mend, "Write ", "Write 0, or ", 1)
		}
		return v, f
	}
	return k
}

// mustDuration reads the bounds that the tables write down.
func mustDuration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic("config: a table holds a bad duration: " + s)
	}
	return d
}

// sizes takes numbers of bytes from 1KiB to one that is itself written so.
func sizes(high, example string) kind {
	const low = "1KiB"
	lowest, okLow := parseSize(low)
	highest, okHigh := parseSize(high)
	if !okLow || !okHigh {
		panic("config: a table holds a bad size: " + low + ", " + high)
	}
	mend := fmt.Sprintf("Write a size from %s to %s, such as %s or a number of bytes", low, high, example)
	return kind{word: fmt.Sprintf("size, %s to %s", low, high), example: example, parse: func(s string) (any, *flaw) {
		n, ok := parseSize(s)
		switch {
		case !ok:
			return nil, &flaw{"is not a size", mend}
		case n < lowest:
			return nil, &flaw{"is smaller than " + low, mend}
		case n > highest:
			return nil, &flaw{"is larger than " + high, mend}
		}
		return n, nil
	}}
}

// parseSize reads 1048576, 64KiB, 8 MiB and 1GiB. Decimal units (MB) are refused: they are taken for either.
func parseSize(s string) (int, bool) {
	unit := 1
	lower := strings.ToLower(s)
	for _, u := range []struct {
		suffix string
		bytes  int
	}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}} {
		if rest, ok := strings.CutSuffix(lower, u.suffix); ok {
			lower, unit = strings.TrimRight(rest, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(lower, 10, 62)
	if err != nil || n > uint64(math.MaxInt/unit) {
		return 0, false
	}
	return int(n) * unit, true
}

// orList is "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
