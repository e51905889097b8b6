package filestore_test

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/filestore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

func open(t *testing.T) state.Store {
	s, err := filestore.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestLease(t *testing.T) {
	storetest.RunLease(t, storetest.Lease{Open: open, TTL: time.Minute, ShortTTL: 3 * time.Second})
}
