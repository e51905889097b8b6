package sqlserver

import "github.com/rowrelay/rowrelay/engine"

// AppendJSON is what a row makes of a value of the driver, for the tests that import what imports this package.
func AppendJSON(col engine.Column, v any) ([]byte, error) {
	r := sqlRow{cols: []engine.Column{col}, values: []any{v}}
	return r.AppendJSON(nil, 0)
}
