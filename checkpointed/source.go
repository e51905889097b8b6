package checkpointed

import (
	"context"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// Source is a table or query that shows rows in the order of a cursor. Its errors say what was being done.
type Source interface {
	// Describe connects where needed, proves the settings against the catalog, and says what the source is. It costs no
	// round trip while what it learned before is fresh. Errors wrap ErrConfig where the settings are at fault.
	Describe(ctx context.Context) (Description, error)
	// Start returns the position that a poller without a document begins at, by source__start, and the incarnation of the
	// database that it was read from.
	Start(ctx context.Context) (start change.Cursor, incarnation string, err error)
	// Fetch returns rows of a range, in one round trip. It retries transient faults itself, bounded. Errors wrap
	// ErrNormalize where rows came but cannot be turned into events without loss, ErrConfig where the settings or the
	// stored cursor do not fit the table, ErrGap where the position is ahead of the source's own counter; any other is a
	// fetch fault.
	Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error)
	// Reread returns the newest state of rows by their keys (Event.Key), as events like any other, in the order of keys.
	// The newest state of a row that is gone is its delete, where the source knows of deletes. A key is missing only where
	// its state cannot be known: a cursor does not see that a row was deleted, or does not meet source__where any more.
	Reread(ctx context.Context, keys [][]byte) ([]change.Event, error)
	// Other returns the first row after a position whose order key is none of avoid; nil where there is none. It is a
	// probe: at most 100 order keys are given.
	Other(ctx context.Context, after change.Cursor, avoid [][]byte) (*change.Event, error)
	// Horizon returns the database's clock, and its oldest open write transaction where the server shows it.
	Horizon(ctx context.Context) (change.Horizon, error)
	// Compare says how the database of one incarnation is related to that of an earlier one, and which incarnation is
	// to be recorded. It asks nobody.
	Compare(was, is string) (relation Relation, record string)
	// Replaced is asked where Page.Table is not what was recorded: whether rows can have come into the table that is
	// there now without being seen, because they stand at or below the position. Then the error wraps ErrGap, or where
	// the engine cannot distinguish a table that was made anew from one that was rebuilt, warning says so.
	Replaced(ctx context.Context, at change.Cursor, was, is string) (warning string, err error)
}

// Relation is how a database is related to the one that a position was read in.
type Relation uint8

const (
	// AnotherDatabase: it was restored or replaced.
	AnotherDatabase Relation = iota
	// SameDatabase: nothing that is known of both differs.
	SameDatabase
	// FailedOver: a replica has taken over, as far as the engine shows it.
	FailedOver
)

// Description says what a source is.
type Description struct {
	// Fingerprint identifies the source definition: "sha256:…" (docs/state.md).
	Fingerprint string
	// Engine is sqlserver, postgres, mysql or sqlite; Table is the qualified name, or "query".
	Engine, Table string
	// Late is how late commits are handled: what source__late_commits says, or what auto chose.
	Late late.Mode
	// Coarse says that the order key is not the row's key: several rows share one.
	Coarse bool
	// Ordered says that Range.Known is understood, and asked for: rows that share an order key come in the order of their
	// writes although they may commit late.
	Ordered bool
	// Ranges says that the rows after a position up to another can be read at any time, as those up to the end can.
	Ranges bool
	// Refused is a fault of the settings under which nothing is delivered, although all can be told of the source; nil
	// for none.
	Refused error
	// Shape is that of the rows' events; nil for none.
	Shape *change.Shape
	// Columns names the cursor's and the key's columns with the kinds of their values. A position has another meaning
	// in columns of another kind.
	Columns string
	// Collations names those of the cursor's and the key's columns with the collations that they are sorted by; "" where
	// nothing tells. A position among rows of one cursor has another place in another order.
	Collations string
	// Dates reads positions as times; nil where the cursor's first column is no time.
	Dates *late.Dates
	// Warnings are for the operator, each once for each Describe that did not come from memory.
	Warnings []string
}

// StartOver is the command that delivers everything again. The beginning of changes is what is retained of them, and
// not the table.
func (d *Description) StartOver(document string) string {
	to := "snapshot"
	if d.Ranges {
		to = "beginning"
	}
	return "rowrelay state reset " + document + " --to " + to
}

func (d *Description) origin() poller.Origin {
	return poller.Origin{Engine: d.Engine, Table: d.Table, Fingerprint: d.Fingerprint}
}
