package blobstore_test

import (
	"context"
	"crypto/rand"
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

func TestStore(t *testing.T) { storetest.Run(t, state.MaxObject, open) }

func TestLease(t *testing.T) {
	t.Parallel()
	storetest.RunLease(t, storetest.Lease{Open: open, TTL: time.Minute, ShortTTL: 10 * time.Second})
}

func TestMissingContainer(t *testing.T) {
	t.Parallel()
	c := client(t)
	s, err := blobstore.New(blobstore.Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := blob.ParseURL(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	storetest.RunMissing(t, s, `"0x1"`, parts.ContainerName, "state__create=true")
}

func TestDenied(t *testing.T) {
	t.Parallel()
	storetest.RunDenied(t, testenv.Azurite(t), func(connection string) state.Store {
		c, err := container.NewClientFromConnectionString(connection, "state-denied", blobstore.ClientOptions())
		if err != nil {
			t.Fatal(err)
		}
		s, err := blobstore.New(blobstore.Config{Client: c})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, "Storage Blob Data Contributor", "state-denied")
}

func TestContentType(t *testing.T) {
	t.Parallel()
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
