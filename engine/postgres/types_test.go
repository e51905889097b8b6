package postgres

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/golden"
)

// TestRightsStatement pins what a server is asked of the login.
func TestRightsStatement(t *testing.T) {
	golden.Pin(t, "rights.sql", rightsSQL+"\n")
}

// TestPlainName: the names of two tables stay two, and short ones stay as they are.
func TestPlainName(t *testing.T) {
	long := "shop." + strings.Repeat("x", 60)
	names := map[string]string{}
	for _, name := range []string{"o", "shop.orders", "shop.order lines", "shop.order_lines", "shop.order.lines",
		long + "1", long + "2"} {
		plain := plainName(name)
		if before, taken := names[plain]; taken {
			t.Errorf("%s and %s are both %s", before, name, plain)
		}
		if len(plain) > 40 || strings.ContainsAny(plain, `. "'`) {
			t.Errorf("%s: %s", name, plain)
		}
		names[plain] = name
	}
	if names["shop_orders"] != "shop.orders" {
		t.Errorf("%v", names)
	}
}

// TestTypeNameIsNoPattern: a type's name may hold %s.
func TestTypeNameIsNoPattern(t *testing.T) {
	v := Type{Schema: "shop", Name: "size%s", Class: "e"}.Value()
	if got, want := engine.Fill(v.Param, "$1"), `$1::"shop"."size%s"`; got != want {
		t.Errorf("a parameter is written %s, want %s (%+v)", got, want, v)
	}
}
