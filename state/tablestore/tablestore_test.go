package tablestore_test

import (
	"context"
	"crypto/rand"
	"errors"
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

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestLease(t *testing.T) {
	storetest.RunLease(t, storetest.Lease{Open: open, TTL: time.Minute, ShortTTL: 10 * time.Second})
}

// TestPartsGoWithTheirHead: a large object leaves no entity behind.
func TestPartsGoWithTheirHead(t *testing.T) {
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
	cfg := config(t, testenv.Azurite(t))
	s, err := tablestore.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, loadErr := s.Load(t.Context(), "state/app/orders.json")
	_, createErr := s.Create(t.Context(), "state/app/orders.json", []byte("{}"))
	_, replaceErr := s.Replace(t.Context(), "state/app/orders.json", []byte("{}"), `W/"1"`)
	_, listErr := s.List(t.Context(), "state/")
	for name, err := range map[string]error{"Load": loadErr, "Create": createErr, "Replace": replaceErr, "List": listErr} {
		var permanent *state.PermanentError
		if !errors.As(err, &permanent) || errors.Is(err, state.ErrNotFound) {
			t.Errorf("%s: %v, want a permanent fault", name, err)
			continue
		}
		for _, want := range []string{cfg.Table, "state__create=true"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not name %s", name, err, want)
			}
		}
	}
}

// TestDenied sends a wrong account key: the service answers 403 as it does to an identity without the role.
func TestDenied(t *testing.T) {
	var parts []string
	for part := range strings.SplitSeq(testenv.Azurite(t), ";") {
		if strings.HasPrefix(part, "AccountKey=") {
			part = "AccountKey=cGxhbnRlZC1zZWNyZXQtcGxhbnRlZC1zZWNyZXQ="
		}
		parts = append(parts, part)
	}
	cfg := config(t, strings.Join(parts, ";"))
	s, err := tablestore.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Load(t.Context(), "state/app/orders.json")
	var permanent *state.PermanentError
	if !errors.As(err, &permanent) {
		t.Fatalf("Load: %v, want a permanent fault", err)
	}
	for _, want := range []string{"403", "Storage Table Data Contributor", cfg.Table} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	for _, secret := range []string{"planted", "cGxhbnRl", "http://", "SharedKey"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q holds %s", err, secret)
		}
	}
}
