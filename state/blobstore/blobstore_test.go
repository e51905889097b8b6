package blobstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/blobstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// client returns the client of a container that does not exist yet and is deleted after the test.
func client(t *testing.T) *container.Client {
	t.Helper()
	name := "state-" + strings.ToLower(rand.Text())
	options := blobstore.ClientOptions()
	options.Retry.TryTimeout = time.Minute // the emulator shares two cores with every other test
	c, err := container.NewClientFromConnectionString(testenv.Azurite(t), name, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// It fails where the test did not create it.
		_, _ = c.Delete(context.Background(), nil)
	})
	return c
}

func open(t *testing.T) state.Store {
	t.Helper()
	s, err := blobstore.New(blobstore.Config{Client: client(t), Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestLease(t *testing.T) {
	storetest.RunLease(t, storetest.Lease{Open: open, TTL: time.Minute, ShortTTL: 10 * time.Second})
}

func TestMissingContainer(t *testing.T) {
	c := client(t)
	s, err := blobstore.New(blobstore.Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	_, loadErr := s.Load(t.Context(), "state/app/orders.json")
	_, createErr := s.Create(t.Context(), "state/app/orders.json", []byte("{}"))
	_, replaceErr := s.Replace(t.Context(), "state/app/orders.json", []byte("{}"), `"0x1"`)
	_, listErr := s.List(t.Context(), "state/")
	parts, err := blob.ParseURL(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"Load": loadErr, "Create": createErr, "Replace": replaceErr, "List": listErr} {
		var permanent *state.PermanentError
		if !errors.As(err, &permanent) || errors.Is(err, state.ErrNotFound) {
			t.Errorf("%s: %v, want a permanent fault", name, err)
			continue
		}
		for _, want := range []string{parts.ContainerName, "state__create=true"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not name %s", name, err, want)
			}
		}
	}
}

// TestDenied sends a wrong account key: the service answers 403 as it does to an identity without the role.
func TestDenied(t *testing.T) {
	genuine := testenv.Azurite(t)
	var parts []string
	for part := range strings.SplitSeq(genuine, ";") {
		if strings.HasPrefix(part, "AccountKey=") {
			part = "AccountKey=cGxhbnRlZC1zZWNyZXQtcGxhbnRlZC1zZWNyZXQ="
		}
		parts = append(parts, part)
	}
	c, err := container.NewClientFromConnectionString(strings.Join(parts, ";"), "state-denied", blobstore.ClientOptions())
	if err != nil {
		t.Fatal(err)
	}
	s, err := blobstore.New(blobstore.Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Load(t.Context(), "state/app/orders.json")
	var permanent *state.PermanentError
	if !errors.As(err, &permanent) {
		t.Fatalf("Load: %v, want a permanent fault", err)
	}
	for _, want := range []string{"403", "Storage Blob Data Contributor", "state-denied"} {
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

func TestContentType(t *testing.T) {
	c := client(t)
	s, err := blobstore.New(blobstore.Config{Client: c, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "state/app/orders.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	got, err := c.NewBlobClient("state/app/orders.json").GetProperties(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.ContentType == nil || *got.ContentType != "application/json" {
		t.Errorf("the blob's content type is %v", got.ContentType)
	}
}
