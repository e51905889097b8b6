package source

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// refusing is a connector that fails as a driver does.
type refusing struct {
	driver.Connector
	err error
}

// TestUntrustedCertificate: the fault names the way to trust it, for each engine, and for a driver that keeps only the
// error's text.
func TestUntrustedCertificate(t *testing.T) {
	t.Parallel()
	for text, mend := range map[string]string{
		"sqlserver://u:p@db.example?database=d": "TrustServerCertificate=True",
		"postgres://u:p@db.example/d":           "sslmode=require",
		"mysql://u:p@db.example/d":              "tls=skip-verify",
	} {
		conn, err := engines.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		verified, ok := conn.Connectors.Plain.(engine.Verified)
		if !ok { // the one that prepares what it has opened holds it
			verified, ok = conn.Connectors.Reading.(engine.Verified)
		}
		if !ok {
			t.Fatalf("%s is not verified", text)
		}
		verified.Connector = refusing{err: errors.New("TLS Handshake failed: x509: certificate signed by unknown authority")}
		conn.Connectors.Reading = verified
		src, err := New(plan.Config{Poller: "p", Table: "o", Cursor: []string{"v"}}, conn)
		if err != nil {
			t.Fatal(err)
		}
		_, err = src.Latest(t.Context())
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "with "+mend) {
			t.Errorf("%s: %v", text, err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (r refusing) Connect(context.Context) (driver.Conn, error) { return nil, r.err }
