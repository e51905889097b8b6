//go:build small

package sqlstore

var textsOf = map[string]texts{"sqlite": sqliteTexts}
