package publisher

import (
	"database/sql"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine/engines"
)

// TestIndexThatCannotBeTried: nobody listens any more while the catalog is read. That says nothing about the index: the
// opening fails, and the table is not taken for one without.
func TestIndexThatCannotBeTried(t *testing.T) {
	t.Parallel()
	const away = "postgres://somebody:secret@127.0.0.1:1/shop"
	conn, err := engines.Parse(away)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open("pgx", away)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	c, err := newCatalog(Config{Table: "outbox", ClaimsTable: "rowrelay_claims", Timeout: time.Minute}, conn, pool)
	if err != nil {
		t.Fatal(err)
	}
	if serves, err := c.serves(t.Context(), c.ownEvents("outbox", true)); serves || err == nil {
		t.Errorf("%v, %v", serves, err)
	}
}
