package testenv

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// Azurite returns the storage connection string of the emulator: blob, queue and table. The account
// is shared by all tests: a test makes containers and queues of its own, under names of its own.
func Azurite(tb testing.TB) string {
	tb.Helper()
	conn := required(tb, "ROWRELAY_TEST_AZURITE")
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	// An anonymous request is refused, but names the server and its version.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, member(conn, "BlobEndpoint"), nil)
	if err != nil {
		tb.Fatal("testenv: ROWRELAY_TEST_AZURITE has no usable BlobEndpoint")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatalf("testenv: reach Azurite: %v\nIf it is not running: eval \"$(scripts/services.sh env)\"", err)
	}
	if err := resp.Body.Close(); err != nil {
		tb.Errorf("testenv: close Azurite's answer: %v", err)
	}
	_, version, found := strings.Cut(resp.Header.Get("Server"), "Azurite-Blob/")
	if !found {
		tb.Fatalf("testenv: what ROWRELAY_TEST_AZURITE names is no Azurite: its Server header is %q",
			resp.Header.Get("Server"))
	}
	record(tb, "Azurite", version)
	return conn
}

// member returns the value of one `Name=value;` member of a storage connection string.
func member(conn, name string) string {
	for part := range strings.SplitSeq(conn, ";") {
		if k, v, ok := strings.Cut(part, "="); ok && k == name {
			return v
		}
	}
	return ""
}
