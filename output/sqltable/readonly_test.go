package sqltable_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/sqltable"
)

// TestReadOnlyServer: a standby has the tables, and takes no row. `rowrelay check` found no fault there.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	c, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := c.WriteDB(1)
	o, err := sqltable.New(sqltable.Config{Connection: c, Table: "copies", Sender: "shop/orders", Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = o.Close(), db.Close() })
	testenv.Exec(t, db, "CREATE TABLE copies (id bigint PRIMARY KEY, text varchar(200) NOT NULL)", o.DDL())
	writable := testenv.ReadOnly(t, url)
	id := []engine.Column{{Name: "id", Type: "bigint", Value: engine.Value{Kind: engine.KindInteger}}}
	for name, err := range map[string]error{"check": o.Ready(t.Context(), "postgres", id, id),
		"a write": o.Deliver(t.Context(), request(1, 1, "1=a"))} {
		if err == nil || !strings.Contains(err.Error(), "output__connection") || !strings.Contains(err.Error(), "primary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	writable()
	if err := o.Deliver(t.Context(), request(1, 1, "1=a")); err != nil {
		t.Errorf("its name leads to a primary now: %v", err)
	}
}
