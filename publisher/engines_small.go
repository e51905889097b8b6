//go:build small

package publisher

var textsOf = map[string]texts{"sqlite": sqliteTexts}
