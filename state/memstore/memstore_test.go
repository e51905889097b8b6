package memstore_test

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

func open(*testing.T) state.Store { return memstore.New() }

func TestStore(t *testing.T) { storetest.Run(t, state.MaxObject, open) }

func TestLease(t *testing.T) {
	storetest.RunLease(t, storetest.Lease{Open: open, TTL: time.Minute, ShortTTL: time.Minute, FakeTime: true})
}
