package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/rowrelay/rowrelay/output"
)

// securityOf returns the client's options for encryption and login.
func securityOf(cfg Config) ([]kgo.Opt, error) {
	var options []kgo.Opt
	if cfg.Connection.TLS {
		roots, err := rootsOf(cfg.Connection.CAFile)
		if err != nil {
			return nil, err
		}
		security := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
		if cfg.Certificate != "" {
			pair, err := output.ClientCertificate(cfg.Certificate)
			if err != nil {
				return nil, err
			}
			security.Certificates = []tls.Certificate{pair}
		}
		options = append(options, kgo.DialTLSConfig(security))
	} else if cfg.Certificate != "" {
		return nil, errors.New("output__client_certificate needs TLS: write tls=true into the kafka connection string")
	}
	mechanism, err := mechanismOf(cfg)
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		options = append(options, kgo.SASL(mechanism))
	}
	return options, nil
}

// rootsOf returns the certificates of a PEM file; nil, the system's, for "".
func rootsOf(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // crypto/tls reads nil as the system's
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the ca of the kafka connection: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the ca of the kafka connection, %s, holds no certificate in PEM form", file)
	}
	return roots, nil
}

// mechanismOf returns how the client authenticates; nil for not at all.
func mechanismOf(cfg Config) (sasl.Mechanism, error) {
	c := cfg.Connection
	if cfg.Credential != nil {
		if c.SASL != "" || !c.TLS {
			return nil, errors.New("an identity authenticates to Event Hubs, by TLS and without a password: see fullyQualifiedNamespace")
		}
		host, _, err := net.SplitHostPort(c.Brokers[0])
		if err != nil {
			return nil, fmt.Errorf("the broker of a kafka output: %w", err)
		}
		scope := policy.TokenRequestOptions{Scopes: []string{"https://" + host + "/.default"}}
		return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			token, err := cfg.Credential.GetToken(ctx, scope)
			if err != nil {
				return oauth.Auth{}, fmt.Errorf("getting a token for Event Hubs: %w", err)
			}
			return oauth.Auth{Token: token.Token}, nil
		}), nil
	}
	switch c.SASL {
	case "":
		return nil, nil //nolint:nilnil // no mechanism is no fault
	case Plain:
		return plain.Auth{User: c.User, Pass: c.Password}.AsMechanism(), nil
	case ScramSHA256:
		return scram.Auth{User: c.User, Pass: c.Password}.AsSha256Mechanism(), nil
	case ScramSHA512:
		return scram.Auth{User: c.User, Pass: c.Password}.AsSha512Mechanism(), nil
	default:
		return nil, fmt.Errorf("sasl is %q: choose of %s, %s, %s", c.SASL, Plain, ScramSHA256, ScramSHA512)
	}
}
