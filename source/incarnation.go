package source

import (
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Compare says how the database that answered is related to the one that a position was read in, by their incarnations,
// and what is to be recorded of both: what is not shown any more stays.
func (c *Cursor) Compare(was, is string) (poller.Relation, string) {
	found, record := engine.Compare(c.dialect, was, is)
	switch found {
	case engine.SameDatabase:
		return poller.SameDatabase, record
	case engine.FailedOver:
		return poller.FailedOver, record
	default:
		return poller.AnotherDatabase, record
	}
}
