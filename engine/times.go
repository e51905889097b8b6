package engine

import (
	"regexp"
	"strconv"
	"time"
)

var precisionOf = regexp.MustCompile(`\((\d)\)`)

// TypeStep is the resolution of a type of times by the digits that it names, or by those that it has where it names
// none.
func TypeStep(typ string, digits int) time.Duration {
	if m := precisionOf.FindStringSubmatch(typ); m != nil {
		digits, _ = strconv.Atoi(m[1]) // one digit, by the pattern
	}
	step := time.Second
	for range digits {
		step /= 10
	}
	return step
}
