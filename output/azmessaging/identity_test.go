package azmessaging_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/rowrelay/rowrelay/internal/amqptest"
	"github.com/rowrelay/rowrelay/internal/tlstest"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

// credential is an identity that gives a token, or an error.
type credential struct {
	err    error
	mu     sync.Mutex
	scopes []string
}

func (c *credential) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scopes = append(c.scopes, o.Scopes...)
	return azcore.AccessToken{Token: "planted-token", ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

// authority is the certificate that clients here trust, one for the process: a process reads whom it trusts once.
var authority = sync.OnceValue(func() tls.Certificate { return tlstest.Certificate("localhost") })

// wrap is the peer behind TLS; it returns the address.
func wrap(t *testing.T, peer *amqptest.Peer, cert tls.Certificate) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // a proxy's end
				behind, err := net.Dial("tcp", peer.Address())
				if err != nil {
					return
				}
				defer behind.Close() //nolint:errcheck // the same
				go func() {
					_, _ = io.Copy(behind, conn)
					_ = behind.Close()
				}()
				_, _ = io.Copy(conn, behind)
			}()
		}
	}()
	return fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port)
}

// As an identity, over TLS: the way that leads to Azure, up to whose certificate it is. A certificate that is not
// trusted, and an identity without a token, are outages.
func TestIdentity(t *testing.T) {
	trusted, other := authority(), tlstest.Certificate("localhost")
	t.Setenv("SSL_CERT_FILE", tlstest.File(t, trusted)) // nothing else in this package uses TLS
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			peer := amqptest.Start(t)
			destinations, err := output.ParseDestinations("orders", nil)
			if err != nil {
				t.Fatal(err)
			}
			open := func(address string, c *credential) amqptest.Output {
				connection, err := azmessaging.WithIdentity(address, c)
				if err != nil {
					t.Fatal(err)
				}
				return amqptest.Open(t, s.open, azmessaging.Config{Connection: connection, Destinations: destinations})
			}

			me := &credential{}
			if err := open(wrap(t, peer, trusted), me).Deliver(t.Context(), outputtest.Delivery(0, 5)); err != nil {
				t.Fatal(err)
			}
			if got := peer.Received("orders"); len(got) != 5 {
				t.Errorf("%d messages arrived", len(got))
			}
			for _, audience := range peer.Stats().Audiences {
				if audience[1] != "jwt" || audience[2] != true ||
					!strings.HasPrefix(fmt.Sprint(audience[0]), "amqps://localhost:") {
					t.Errorf("a token was put as %v", audience)
				}
			}
			for _, scope := range me.scopes {
				if scope != "https://"+map[string]string{"servicebus": "servicebus", "eventhubs": "eventhubs"}[s.name]+
					".azure.net//.default" {
					t.Errorf("a token was asked for for %s", scope)
				}
			}

			for want, o := range map[string]amqptest.Output{
				"certificate": open(wrap(t, peer, other), &credential{}),
				"not logged in": open(wrap(t, peer, trusted),
					&credential{err: errors.New("DefaultAzureCredential:\nnot logged in")}),
			} {
				failure, event := deliver(t, o, outputtest.Delivery(0, 1))
				text := failure.Error()
				if event.Cause != poller.Unavailable || !strings.Contains(text, want) || strings.Contains(text, "planted") ||
					strings.Contains(text, "\n") {
					t.Errorf("%s: %s: %q", want, event.Cause, text)
				}
			}
		})
	}
}

// Up to what the link takes, in frames of the peer's size.
func TestLargeMessage(t *testing.T) {
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			peer := amqptest.Start(t)
			peer.Set("orders", amqptest.Rule{Max: 1 << 20})
			o := amqptest.Open(t, s.open, amqptest.Config(t, peer.Connection(), "orders", nil))
			d := outputtest.Delivery(0, 2)
			d.Events[0].Row = []byte(`{"text":"` + strings.Repeat("x", 1<<20-8<<10) + `"}`)
			d.Events[1].Row = []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
			err := o.Deliver(t.Context(), d)
			var failure *poller.DeliveryError
			if !errors.As(err, &failure) || len(failure.Failed) != 1 || !is(failure.Failed[0], 1, poller.Impossible, true) {
				t.Fatalf("%v", err)
			}
			if text := err.Error(); !strings.Contains(text, d.Events[1].ID) || !strings.Contains(text, "bytes") {
				t.Errorf("%q", text)
			}
			if got := peer.Received("orders"); len(got) != 1 || len(got[0].Body) < 1<<20-8<<10 {
				t.Errorf("%d messages arrived", len(got))
			}
		})
	}
}
