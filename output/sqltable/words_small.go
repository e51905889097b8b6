//go:build small

package sqltable

var wordsOf = map[string]words{"sqlite": sqliteWords}
