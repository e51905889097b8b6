package leased_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"

	"github.com/rowrelay/rowrelay/internal/changetest"
)

// conn is an instance's connection. One that was cut has no effect, and no answer.
type conn struct {
	changetest.Conn
	m   *server
	cut *bool
}

func (c conn) Connect(context.Context) (driver.Conn, error) { return c, nil }

var errCut = errors.New("cut off")

// params are a statement's arguments by name.
func params(args []driver.NamedValue) map[string]any {
	named := map[string]any{}
	for _, a := range args {
		named[a.Name] = a.Value
	}
	return named
}

func number(v any) int64 {
	switch n := v.(type) {
	case int:
		return int64(n)
	case int64:
		return n
	}
	panic(fmt.Sprintf("%T is no number", v))
}

var topOf = regexp.MustCompile(`SELECT TOP \((\d+)\) r\.`)
