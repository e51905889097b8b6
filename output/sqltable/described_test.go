package sqltable

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestKeyThatIsDropped: MySQL's upsert into a table that has lost its key adds a row with each event, and says nothing.
func TestKeyThatIsDropped(t *testing.T) {
	t.Parallel()
	c, err := engines.Parse(testenv.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Config{Connection: c, Table: "copies", Sender: "shop/orders", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	db := c.WriteDB(1)
	t.Cleanup(func() { _, _ = o.Close(), db.Close() })
	testenv.Exec(t, db, "CREATE TABLE copies (id bigint PRIMARY KEY)")
	deliver := func(number uint64) error {
		key := []byte(`{"id":1}`)
		return o.Deliver(t.Context(), change.Delivery{Token: 1, Number: number,
			Events: []change.Event{{ID: string(rune('a' + number)), Key: key, OrderKey: key, Row: key}}})
	}
	if err := deliver(1); err != nil {
		t.Fatal(err)
	}
	testenv.Exec(t, db, "ALTER TABLE copies DROP PRIMARY KEY")
	o.knownAt = time.Now().Add(-describedFor)
	if err := deliver(2); err == nil || !strings.Contains(err.Error(), "needs a primary key") {
		t.Errorf("without a key: %v", err)
	}
	testenv.Exec(t, db, "ALTER TABLE copies ADD PRIMARY KEY (id)")
	if err := deliver(3); err != nil {
		t.Errorf("with a key again, or with a row too many: %v", err)
	}
}
