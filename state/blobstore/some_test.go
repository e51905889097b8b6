package blobstore_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/rowrelay/rowrelay/state/blobstore"
)

// TestAListEndsWhenItHasEnough: each page of names is a request, and there may be hundreds of thousands.
func TestAListEndsWhenItHasEnough(t *testing.T) {
	t.Parallel()
	const pages = 5
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		next := ""
		if n < pages {
			next = fmt.Sprint("page", n)
		}
		w.Header().Set("Content-Type", "application/xml")
		_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs><Blob><Name>d/%d-b</Name></Blob><Blob><Name>d/%d-a</Name></Blob></Blobs><NextMarker>%s</NextMarker></EnumerationResults>`, n, n, next)
	}))
	defer server.Close()
	client, err := container.NewClientWithNoCredential(server.URL+"/c", blobstore.ClientOptions())
	if err != nil {
		t.Fatal(err)
	}
	store, err := blobstore.New(blobstore.Config{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		enough, keys, asked int
		all                 bool
	}{{3, 4, 2, false}, {9, 10, 5, true}, {10, 10, 5, true}, {1000, 10, 5, true}} {
		asked.Store(0)
		keys, all, err := store.ListSome(t.Context(), "d/", c.enough)
		if err != nil || len(keys) != c.keys || all != c.all || int(asked.Load()) != c.asked || keys[0] != "d/1-a" {
			t.Errorf("%d are enough: %q, all %t, %v, after %d requests; want %+v", c.enough, keys, all, err, asked.Load(), c)
		}
	}
	asked.Store(0)
	if keys, err := store.List(t.Context(), "d/"); err != nil || len(keys) != 10 {
		t.Errorf("%q, %v", keys, err)
	}
}
