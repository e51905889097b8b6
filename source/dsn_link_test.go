package source

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/loopback"
	"github.com/rowrelay/rowrelay/poller"
)

// TestLinks: what leaves this machine is verified by default; less has to be asked for, and is said.
func TestLinks(t *testing.T) {
	const ado = "User ID=sa;Password=x;Database=shop;"
	for _, c := range []struct {
		text string
		link Link
		says string // the warning; "" for none
	}{
		{"postgres://u:p@db1/shop", LinkVerified, ""},
		{"postgres://u:p@db1/shop?sslmode=verify-full", LinkVerified, ""},
		{"postgres://u:p@localhost,db1/shop", LinkVerified, ""},
		{"postgres://u:p@localhost/shop", LinkLocal, ""},
		{"postgres://u:p@[::1]:5433/shop", LinkLocal, ""},
		{"postgres://u:p@127.0.0.1,localhost/shop", LinkLocal, ""},
		{"postgres://u:p@/shop?host=/run/postgresql", LinkLocal, ""},
		{"postgres://u:p@/shop?host=db1", LinkVerified, ""},
		{"postgres://u:p@db1/shop?sslmode=verify-ca", LinkUnverified, "sslmode is verify-ca"},
		{"postgres://u:p@db1/shop?sslmode=require", LinkUnverified, "sslmode is require"},
		{"postgres://u:p@db1/shop?sslmode=prefer", LinkUnverified, "sslmode is prefer"},
		{"postgres://u:p@db1/shop?sslmode=allow", LinkUnverified, "sslmode is allow"},
		{"postgres://u:p@db1/shop?sslmode=disable", LinkPlain, "not encrypted (sslmode is disable)"},
		{"postgres://u:p@localhost,db1/shop?sslmode=disable", LinkPlain, "not encrypted"},
		{"mysql://u:p@db1/shop", LinkVerified, ""},
		{"mysql://u:p@db1/shop?tls=true", LinkVerified, ""},
		{"mysql://u:p@localhost/shop", LinkLocal, ""},
		{"mysql://u:p@db1/shop?socket=/run/mysqld.sock", LinkLocal, ""},
		{"mysql://u:p@db1/shop?tls=preferred", LinkUnverified, "tls=preferred"},
		{"mysql://u:p@db1/shop?ssl-mode=REQUIRED", LinkUnverified, "tls=skip-verify"},
		{"mysql://u:p@db1/shop?tls=false", LinkPlain, "not encrypted (tls=false)"},
		{"u:p@tcp(db1)/shop", LinkVerified, ""},
		{"Server=db1;" + ado, LinkVerified, ""},
		{"Server=db1;Encrypt=Strict;TrustServerCertificate=True;" + ado, LinkVerified, ""},
		{"Server=127.0.0.1;TrustServerCertificate=True;" + ado, LinkLocal, ""},
		{"Server=db1;TrustServerCertificate=True;" + ado, LinkUnverified, "TrustServerCertificate"},
		{"Server=db1;Encrypt=False;" + ado, LinkPlain, "not encrypted (Encrypt)"},
		{"sqlserver://sa:x@db1?database=shop&encrypt=disable", LinkPlain, "not encrypted (Encrypt)"},
		{"sqlserver://sa:x@db1?database=shop", LinkVerified, ""},
		{"sqlite:shop.db", LinkLocal, ""},
	} {
		got, err := ParseConnection(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got.Link != c.link || (len(got.Warnings) > 0) != (c.says != "") || !strings.Contains(strings.Join(got.Warnings, "\n"), c.says) {
			t.Errorf("%s: %s, %q; want %s, %q", c.text, got.Link, got.Warnings, c.link, c.says)
		}
	}
}

// TestLinkOfTheEnvironment: libpq's variable counts as said.
func TestLinkOfTheEnvironment(t *testing.T) {
	t.Setenv("PGSSLMODE", "require")
	got, err := ParseConnection("postgres://u:p@db1/shop")
	if err != nil || got.Link != LinkUnverified || len(got.Warnings) != 1 {
		t.Errorf("%s %q, %v", got.Link, got.Warnings, err)
	}
	if got, err = ParseConnection("postgres://u:p@db1/shop?sslmode=verify-full"); err != nil || got.Link != LinkVerified {
		t.Errorf("%s, %v", got.Link, err)
	}
}

// TestSecrets: whether a string holds a password, which an identity does not.
func TestSecrets(t *testing.T) {
	for text, want := range map[string]bool{
		"postgres://u:p@db1/shop": true, "postgres://u@/shop?host=/run/postgresql": false,
		"mysql://u:p@db1/shop": true, "mysql://root@localhost/shop": false,
		"Server=db1;Database=shop;User ID=sa;Password=x":                                  true,
		"Server=db1;Database=shop;Authentication=Active Directory Default":                false,
		"Server=db1;Database=shop;Authentication=Active Directory Managed Identity;UID=x": false,
		"sqlite:shop.db": false,
	} {
		if got, err := ParseConnection(text); err != nil || got.Secret != want {
			t.Errorf("%s: %v, %v", text, got.Secret, err)
		}
	}
}

// elsewhere reaches this machine by an address that is not taken for it, so that the defaults are those for another machine.
const elsewhere = "0.0.0.0"

// TestServerWithoutTLS: a real server that offers none, or has a certificate of its own, is not used by default, and the error says
// what to write.
func TestServerWithoutTLS(t *testing.T) {
	for engine, c := range map[string]struct{ text, mend, asks string }{
		"postgres": {testenv.Postgres(t), "sslmode=disable", "?sslmode=disable"},
		"mysql":    {testenv.MySQL(t), "tls=false", "?tls=false"},
	} {
		u, err := url.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery = ""
		if loopback.Is(u.Hostname()) {
			u.Host = net.JoinHostPort(elsewhere, u.Port())
		}
		text := u.String()
		if err := ping(t, text); err == nil || !strings.Contains(err.Error(), "write "+c.mend) && !strings.Contains(err.Error(), "is not trusted") {
			t.Errorf("%s: %v", engine, err)
		}
		if err := ping(t, text+c.asks); err != nil {
			t.Errorf("%s, asked for: %v", engine, err)
		}
	}
}

// TestServerThatIsNotTrusted: a server whose certificate nobody signed is refused before anything is sent to it.
func TestServerThatIsNotTrusted(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test's own
	got := make(chan int, 8)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 8) // SSLRequest
			if _, err := io.ReadFull(conn, request); err == nil {
				_, _ = conn.Write([]byte("S"))
				secured := tls.Server(conn, &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
				n, _ := secured.Read(make([]byte, 1024))
				got <- n
			}
			_ = conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	err = ping(t, "postgres://u:p@"+net.JoinHostPort(elsewhere, port)+"/shop")
	if err == nil || !strings.Contains(err.Error(), "with sslmode=require") {
		t.Errorf("%v", err)
	}
	select {
	case n := <-got:
		if n != 0 {
			t.Errorf("%d bytes were sent to it", n)
		}
	case <-time.After(30 * time.Second):
		t.Error("it was not even asked for its certificate")
	}
}

// refusing is a connector that fails as a driver does.
type refusing struct {
	driver.Connector
	err error
}

func (r refusing) Connect(context.Context) (driver.Conn, error) { return nil, r.err }

// TestUntrustedCertificate: the fault names the way to trust it, for each engine, and for a driver that keeps only the error's text.
func TestUntrustedCertificate(t *testing.T) {
	for text, mend := range map[string]string{
		"sqlserver://u:p@db.example?database=d": "TrustServerCertificate=True",
		"postgres://u:p@db.example/d":           "sslmode=require",
		"mysql://u:p@db.example/d":              "tls=skip-verify",
	} {
		conn, err := ParseConnection(text)
		if err != nil {
			t.Fatal(err)
		}
		verified, ok := conn.connector.(verifiedConnector)
		if !ok {
			t.Fatalf("%s is not verified", text)
		}
		verified.Connector = refusing{err: errors.New("TLS Handshake failed: x509: certificate signed by unknown authority")}
		conn.connector = verified
		src, err := New(Config{Poller: "p", Table: "o", Cursor: []string{"v"}}, conn)
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

func ping(t *testing.T, text string) error {
	t.Helper()
	c, err := ParseConnection(text)
	if err != nil {
		t.Fatal(err)
	}
	db := c.DB(1)
	defer db.Close() //nolint:errcheck // the test's own
	return db.PingContext(t.Context())
}
