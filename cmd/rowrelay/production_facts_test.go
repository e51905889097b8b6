package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestKeptFor: soft delete is read off the service's properties, and a login that may not read them is told from one that is off.
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
			days, err := keptFor(t.Context(), &config.Storage{ConnectionString: config.Secret("AccountName=shop;AccountKey=eA==;BlobEndpoint=" + server.URL + "/shop")})
			if days != c.days || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%d days, %v", days, err)
			}
		})
	}
	if days, err := keptFor(t.Context(), &config.Storage{ConnectionString: config.Secret(testenv.Azurite(t))}); days != 0 || err != nil {
		t.Errorf("Azurite: %d, %v", days, err)
	}
}

// TestAccounts: whether the state lies in the host's account, by each form of the two settings.
func TestAccounts(t *testing.T) {
	const shop = "DefaultEndpointsProtocol=https;AccountName=Shop;AccountKey=eA=="
	for _, c := range []struct {
		env        []string
		same, free bool // the host's account; without a key
	}{
		{[]string{"AzureWebJobsStorage=" + shop}, true, false},
		{[]string{"AzureWebJobsStorage__accountName=shop"}, true, true},
		{[]string{"AzureWebJobsStorage__accountName=shop", "state__connection=S", "S=" + shop}, true, false},
		{[]string{"AzureWebJobsStorage__accountName=shop", "state__connection=S", "S__blobServiceUri=https://state.blob.core.windows.net"}, false, true},
		{[]string{"AzureWebJobsStorage__blobServiceUri=https://shop.blob.core.windows.net", "state__connection=S", "S__blobServiceUri=https://shop.blob.core.windows.net/"}, true, true},
	} {
		f, _ := factsOf(t, append(c.env, "state__kind=blob")...)
		s := &f.app.cfg.State.Connection
		if same := accountOf(s) != "" && accountOf(s) == f.hostAccount(); same != c.same || (s.ConnectionString == "") != c.free {
			t.Errorf("%q: the same %v, without a key %v; %q and %q", c.env, same, s.ConnectionString == "", accountOf(s), f.hostAccount())
		}
	}
}

// TestLocalNames: the settings that a file holds, not the environment.
func TestLocalNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "local.settings.json")
	if err := os.WriteFile(path, []byte(`{"Values":{"DB":"postgres://u:p@h/d"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	names := localNames(&console{settings: path, environ: []string{"OTHER=x"}, out: io.Discard, err: io.Discard})
	if len(names) != 1 || !names["DB"] {
		t.Errorf("%v", names)
	}
}
