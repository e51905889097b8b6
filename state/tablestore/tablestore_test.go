package tablestore_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/storetest"
	"github.com/rowrelay/rowrelay/state/tablestore"
)

// config names a table that does not exist yet and is deleted after the test.
func config(t *testing.T, connection string) tablestore.Config {
	t.Helper()
	service, err := aztables.NewServiceClientFromConnectionString(connection, &aztables.ClientOptions{
		// The emulator shares two cores with every other test.
		ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: 1, TryTimeout: time.Minute}},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := tablestore.Config{Table: "state" + strings.ToLower(rand.Text())}
	cfg.Client = service.NewClient(cfg.Table)
	t.Cleanup(func() {
		// It fails where the test did not create it.
		_, _ = cfg.Client.Delete(context.Background(), nil)
	})
	return cfg
}

func open(t *testing.T) state.Store {
	t.Helper()
	cfg := config(t, testenv.Azurite(t))
	cfg.Create = true
	s, err := tablestore.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStore: the emulator takes two minutes for state.MaxObject.
func TestStore(t *testing.T) { storetest.Run(t, 8<<20+1, open) }

func TestLease(t *testing.T) {
	t.Parallel()
	storetest.RunLease(t, storetest.Lease{Open: open, TTL: time.Minute, ShortTTL: 10 * time.Second})
}

// TestPartsGoWithTheirHead: a large object leaves no entity behind.
func TestPartsGoWithTheirHead(t *testing.T) {
	t.Parallel()
	cfg := config(t, testenv.Azurite(t))
	cfg.Create = true
	s, err := tablestore.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := s.Create(t.Context(), "objects/app/orders/memory-x", make([]byte, 3<<20))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "objects/app/orders/memory-x", stamp.Version); err != nil {
		t.Fatal(err)
	}
	pages := cfg.Client.NewListEntitiesPager(nil)
	for pages.More() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Entities) > 0 {
			t.Errorf("%d entities were left behind", len(page.Entities))
		}
	}
}

func TestMissingTable(t *testing.T) {
	t.Parallel()
	cfg := config(t, testenv.Azurite(t))
	s, err := tablestore.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	storetest.RunMissing(t, s, `W/"1"`, cfg.Table, "state__create=true")
}

func TestDenied(t *testing.T) {
	t.Parallel()
	storetest.RunDenied(t, testenv.Azurite(t), func(connection string) state.Store {
		s, err := tablestore.New(config(t, connection))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, "Storage Table Data Contributor")
}
