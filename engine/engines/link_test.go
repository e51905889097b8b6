package engines

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/loopback"
)

// TestLinks: what leaves this machine is verified by default; less has to be asked for, and is said.
func TestLinks(t *testing.T) {
	t.Parallel()
	const ado = "User ID=sa;Password=x;Database=shop;"
	for _, c := range []struct {
		text string
		link engine.Link
		says string // the warning; "" for none
	}{
		{"postgres://u:p@db1/shop", engine.LinkVerified, ""},
		{"postgres://u:p@db1/shop?sslmode=verify-full", engine.LinkVerified, ""},
		{"postgres://u:p@localhost,db1/shop", engine.LinkVerified, ""},
		{"postgres://u:p@localhost/shop", engine.LinkLocal, ""},
		{"postgres://u:p@[::1]:5433/shop", engine.LinkLocal, ""},
		{"postgres://u:p@127.0.0.1,localhost/shop", engine.LinkLocal, ""},
		{"postgres://u:p@/shop?host=/run/postgresql", engine.LinkLocal, ""},
		{"postgres://u:p@/shop?host=db1", engine.LinkVerified, ""},
		{"postgres://u:p@db1/shop?sslmode=verify-ca", engine.LinkUnverified, "sslmode is verify-ca"},
		{"postgres://u:p@db1/shop?sslmode=require", engine.LinkUnverified, "sslmode is require"},
		{"postgres://u:p@db1/shop?sslmode=prefer", engine.LinkUnverified, "sslmode is prefer"},
		{"postgres://u:p@db1/shop?sslmode=allow", engine.LinkUnverified, "sslmode is allow"},
		{"postgres://u:p@db1/shop?sslmode=disable", engine.LinkPlain, "not encrypted (sslmode is disable)"},
		{"postgres://u:p@localhost,db1/shop?sslmode=disable", engine.LinkPlain, "not encrypted"},
		{"mysql://u:p@db1/shop", engine.LinkVerified, ""},
		{"mysql://u:p@db1/shop?tls=true", engine.LinkVerified, ""},
		{"mysql://u:p@localhost/shop", engine.LinkLocal, ""},
		{"mysql://u:p@db1/shop?socket=/run/mysqld.sock", engine.LinkLocal, ""},
		{"mysql://u:p@db1/shop?tls=preferred", engine.LinkUnverified, "tls=preferred"},
		{"mysql://u:p@db1/shop?ssl-mode=REQUIRED", engine.LinkUnverified, "tls=skip-verify"},
		{"mysql://u:p@db1/shop?tls=false", engine.LinkPlain, "not encrypted (tls=false)"},
		{"u:p@tcp(db1)/shop", engine.LinkVerified, ""},
		{"Server=db1;" + ado, engine.LinkVerified, ""},
		{"Server=db1;Encrypt=Strict;TrustServerCertificate=True;" + ado, engine.LinkVerified, ""},
		{"Server=127.0.0.1;TrustServerCertificate=True;" + ado, engine.LinkLocal, ""},
		{"Server=db1;TrustServerCertificate=True;" + ado, engine.LinkUnverified, "TrustServerCertificate"},
		{"Server=db1;Encrypt=False;" + ado, engine.LinkPlain, "not encrypted (Encrypt)"},
		{"sqlserver://sa:x@db1?database=shop&encrypt=disable", engine.LinkPlain, "not encrypted (Encrypt)"},
		{"sqlserver://sa:x@db1?database=shop", engine.LinkVerified, ""},
		{"sqlite:shop.db", engine.LinkLocal, ""},
	} {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got.Link != c.link || (len(got.Warnings) > 0) != (c.says != "") ||
			!strings.Contains(strings.Join(got.Warnings, "\n"), c.says) {
			t.Errorf("%s: %s, %q; want %s, %q", c.text, got.Link, got.Warnings, c.link, c.says)
		}
	}
}

// TestLinkOfTheEnvironment: libpq's variable counts as said.
func TestLinkOfTheEnvironment(t *testing.T) {
	t.Setenv("PGSSLMODE", "require")
	got, err := Parse("postgres://u:p@db1/shop")
	if err != nil || got.Link != engine.LinkUnverified || len(got.Warnings) != 1 {
		t.Errorf("%s %q, %v", got.Link, got.Warnings, err)
	}
	if got, err = Parse("postgres://u:p@db1/shop?sslmode=verify-full"); err != nil || got.Link != engine.LinkVerified {
		t.Errorf("%s, %v", got.Link, err)
	}
}

// TestSecrets: whether a string holds a password, which an identity does not.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"postgres://u:p@db1/shop": true, "postgres://u@/shop?host=/run/postgresql": false,
		"mysql://u:p@db1/shop": true, "mysql://root@localhost/shop": false,
		"Server=db1;Database=shop;User ID=sa;Password=x":                                  true,
		"Server=db1;Database=shop;Authentication=Active Directory Default":                false,
		"Server=db1;Database=shop;Authentication=Active Directory Managed Identity;UID=x": false,
		"sqlite:shop.db": false,
	} {
		if got, err := Parse(text); err != nil || got.Secret != want {
			t.Errorf("%s: %v, %v", text, got.Secret, err)
		}
	}
}

// elsewhere reaches this machine by an address that is not taken for it, so that the defaults are those for another
// machine.
const elsewhere = "0.0.0.0"

// TestServerWithoutTLS: a real server that offers none, or has a certificate of its own, is not used by default, and
// the error says what to write.
func TestServerWithoutTLS(t *testing.T) {
	t.Parallel()
	for engineName, c := range map[string]struct{ text, mend, asks string }{
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
		if err := ping(t, text); err == nil ||
			!strings.Contains(err.Error(), "write "+c.mend) && !strings.Contains(err.Error(), "is not trusted") {
			t.Errorf("%s: %v", engineName, err)
		}
		if err := ping(t, text+c.asks); err != nil {
			t.Errorf("%s, asked for: %v", engineName, err)
		}
	}
}

// TestServerThatIsNotTrusted: a server whose certificate nobody signed is refused before anything is sent to it.
func TestServerThatIsNotTrusted(t *testing.T) {
	t.Parallel()
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

func ping(t *testing.T, text string) error {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	db := c.DB(1)
	defer db.Close() //nolint:errcheck // the test's own
	return db.PingContext(t.Context())
}
