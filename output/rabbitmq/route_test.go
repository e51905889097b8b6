package rabbitmq

import (
	"errors"
	"strings"
	"testing"
)

func TestParseRoute(t *testing.T) {
	long := strings.Repeat("x", maxShort+1)
	for destination, want := range map[string]route{
		"order.events":            {"", "order.events"},
		"shop/order.events":       {"shop", "order.events"},
		"shop/a/b":                {"shop", "a/b"},
		"fanout/":                 {"fanout", ""},
		"/queue":                  {"", "queue"},
		long[1:] + "/" + long[1:]: {long[1:], long[1:]},
	} {
		if got, err := parseRoute(destination); err != nil || got != want {
			t.Errorf("%q: %+v, %v", destination, got, err)
		}
	}
	for _, destination := range []string{long, long + "/k", "x/" + long} {
		if _, err := parseRoute(destination); !errors.Is(err, errLongRoute) {
			t.Errorf("%d bytes: %v", len(destination), err)
		}
	}
}
