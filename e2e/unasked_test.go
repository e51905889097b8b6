package e2e

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnaskedAnswers: what a receiver sends without being asked is nobody's answer, and stands in no log.
func TestUnaskedAnswers(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 a row's secret\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the sender has closed it
	}))
	receiver.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(receiver.Close)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}
	s := sqliteStall(t, receiver.URL)
	s.add(0, 6)
	s.settings["SSL_CERT_FILE"], s.settings["pollers__orders__output__batch"] = authority, "1"
	out, errs, err := command(t, t.TempDir(), s.settings, "run", "--once")
	if err != nil || !strings.Contains(out, `"rows":6`) || strings.Contains(errs, "secret") {
		t.Errorf("%v\n%s\n%s", err, out, errs)
	}
}
