// Package kind holds the types that values of settings have: how each is read, what the reference calls it, and what is
// said of a value that is none of it. Config's tables name a kind for each setting. Kinds that are about Rowrelay, such
// as an app's name, are in config/values.go.
package kind

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind is the type of a setting's value.
type Kind struct {
	// Word names the type in the reference, Example is a value.
	Word, Example string
	// Hidden values are never printed, not even in their own flaw.
	Hidden bool
	// Parse returns the value in the type of its field. It is given a value that is not empty.
	Parse func(string) (any, *Flaw)
}

// Flaw is what is wrong with a value: Problem continues "the value …", Mend is a sentence without its full stop.
type Flaw struct{ Problem, Mend string }

// Wrong is the flaw of a value that is none of its kind.
func Wrong(problem, mend string) *Flaw { return &Flaw{problem, mend} }

// Text takes any value.
func Text(word, example string) Kind {
	return Kind{Word: word, Example: example, Parse: func(s string) (any, *Flaw) { return s, nil }}
}

// OneOf takes one of some words, in any case of letters.
func OneOf(words ...string) Kind {
	mend := "Write " + orList(words)
	return Kind{Word: strings.Join(words, ", "), Example: words[0], Parse: func(s string) (any, *Flaw) {
		for _, w := range words {
			if strings.EqualFold(w, s) {
				return w, nil
			}
		}
		return nil, &Flaw{"is none of the values that this setting takes", mend}
	}}
}

// Flag takes true and false.
var Flag = Kind{Word: "true or false", Example: "true", Parse: func(s string) (any, *Flaw) {
	switch strings.ToLower(s) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return nil, &Flaw{"is neither true nor false", "Write true or false"}
}}

// longestHex is how many bytes Hex takes: SQL Server's contexts have 128, of which a writer may need eight.
const longestHex = 120

// Hex takes bytes as hexadecimal digits after 0x, and returns them in lower case.
var Hex = Kind{Word: "0x and hexadecimal digits", Example: "0x52454C59", Parse: func(s string) (any, *Flaw) {
	lower := strings.ToLower(s)
	digits, prefixed := strings.CutPrefix(lower, "0x")
	bytes, err := hex.DecodeString(digits)
	if err != nil || !prefixed || len(bytes) == 0 || len(bytes) > longestHex {
		return nil, &Flaw{"is not one of some bytes as hexadecimal digits",
			fmt.Sprintf("Write 0x and two digits for each of at most %d bytes, such as 0x52454C59", longestHex)}
	}
	return lower, nil
}}

// Whole takes whole numbers.
func Whole(low, high int, example string) Kind {
	mend := fmt.Sprintf("Write a whole number from %d to %d, such as %s", low, high, example)
	return Kind{Word: fmt.Sprintf("number, %d to %d", low, high), Example: example, Parse: func(s string) (any, *Flaw) {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return nil, &Flaw{"is not a whole number", mend}
		case n < low:
			return nil, &Flaw{fmt.Sprintf("is less than %d", low), mend}
		case n > high:
			return nil, &Flaw{fmt.Sprintf("is more than %d", high), mend}
		}
		return n, nil
	}}
}

// Durations takes Go's durations between two that are themselves written so.
func Durations(low, high, example string) Kind {
	lowest, highest := mustDuration(low), mustDuration(high)
	mend := fmt.Sprintf("Write a duration from %s to %s with its unit, such as %s", low, high, example)
	return Kind{Word: fmt.Sprintf("duration, %s to %s", low, high), Example: example, Parse: func(s string) (any, *Flaw) {
		d, err := time.ParseDuration(s)
		_, noUnit := strconv.ParseFloat(s, 64)
		switch {
		case err != nil && noUnit == nil:
			return nil, &Flaw{"has no unit", mend}
		case err != nil:
			return nil, &Flaw{"is not a duration", mend}
		case d < lowest:
			return nil, &Flaw{"is shorter than " + low, mend}
		case d > highest:
			return nil, &Flaw{"is longer than " + high, mend}
		}
		return d, nil
	}}
}

// OrZero also takes 0, which switches something off.
func OrZero(k Kind) Kind {
	parse := k.Parse
	k.Word = "0 or " + k.Word
	k.Parse = func(s string) (any, *Flaw) {
		if d, err := time.ParseDuration(s); err == nil && d == 0 {
			return d, nil
		}
		v, f := parse(s)
		if f != nil {
			f.Mend = strings.Replace(f.Mend, "Write ", "Write 0, or ", 1)
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

// Sizes takes numbers of bytes from 1KiB to one that is itself written so.
func Sizes(high, example string) Kind {
	const low = "1KiB"
	lowest, okLow := parseSize(low)
	highest, okHigh := parseSize(high)
	if !okLow || !okHigh {
		panic("config: a table holds a bad size: " + low + ", " + high)
	}
	mend := fmt.Sprintf("Write a size from %s to %s, such as %s or a number of bytes", low, high, example)
	return Kind{Word: fmt.Sprintf("size, %s to %s", low, high), Example: example, Parse: func(s string) (any, *Flaw) {
		n, ok := parseSize(s)
		switch {
		case !ok:
			return nil, &Flaw{"is not a size", mend}
		case n < lowest:
			return nil, &Flaw{"is smaller than " + low, mend}
		case n > highest:
			return nil, &Flaw{"is larger than " + high, mend}
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
