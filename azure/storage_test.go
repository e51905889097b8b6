//go:build !small

package azure

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestKeptFor: soft delete is read off the service's properties, and a login that may not read them is told from one
// that is off.
func TestKeptFor(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		policy string
		days   int32
		fails  string
	}{
		"on":     {200, "<DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></DeleteRetentionPolicy>", 7, ""},
		"off":    {200, "<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>", 0, ""},
		"denied": {403, "", 0, "HTTP 403"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Query().Get("comp") != "properties" {
					t.Errorf("%s %s: nothing else is asked", r.Method, r.URL)
				}
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(c.status)
				_, _ = fmt.Fprintf(w, "<StorageServiceProperties>%s</StorageServiceProperties>", c.policy)
			}))
			defer server.Close()
			days, err := KeptFor(t.Context(),
				&config.Storage{ConnectionString: config.Secret("AccountName=shop;AccountKey=eA==;BlobEndpoint=" + server.URL +
					"/shop")})
			if days != c.days || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%d days, %v", days, err)
			}
		})
	}
	if days, err := KeptFor(t.Context(),
		&config.Storage{ConnectionString: config.Secret(testenv.Azurite(t))}); days != 0 || err != nil {
		t.Errorf("Azurite: %d, %v", days, err)
	}
}

func TestAccountAt(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://shop.blob.core.windows.net": "shop", "https://shop.z01.blob.storage.azure.net/": "shop",
		"https://Shop-secondary.blob.core.windows.net":   "shop",
		"https://shop.privatelink.blob.core.windows.net": "shop",
		"http://127.0.0.1:10000/devstoreaccount1":        "devstoreaccount1",
		"http://azurite:10000/devstoreaccount1":          "devstoreaccount1", "https://blobs.example.com": "", "": "",
		":// bad": "",
	} {
		if got := accountAt(endpoint); got != want {
			t.Errorf("%q is the account %q, want %q", endpoint, got, want)
		}
	}
}
