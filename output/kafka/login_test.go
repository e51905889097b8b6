package kafka_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/tlstest"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/poller"
)

func connection(t *testing.T, text string) func(*kafka.Config) {
	t.Helper()
	c, err := kafka.ParseConnection(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *kafka.Config) { cfg.Connection, cfg.Timeout = c, time.Minute }
}

func logins(t *testing.T, broker *testenv.KafkaBroker) {
	topic := broker.Topic(t, 1)
	secret := url.UserPassword(testenv.KafkaUser, testenv.KafkaPassword).String()
	for _, sasl := range []string{"sasl=plain&tls=false", "sasl=scram-sha-256"} {
		o := open(t, "", topic, connection(t, "kafka://"+secret+"@"+broker.Login+"?"+sasl))
		d := outbox(0, 3)
		programtest.Until(t, "a login by "+sasl+" is accepted", func() bool { // a slow broker loses its leaders for a moment
			rest, err := unavailable(t, o, d)
			d.Events = rest
			return err == nil
		})
	}
	if got := len(broker.Records(t, topic)); got < 6 {
		t.Errorf("%d events arrived, want 6", got)
	}
	for text, says := range map[string]string{
		"kafka://alice:wr0ngwr0ng@" + broker.Login + "?sasl=plain&tls=false": "check user, password",
		"kafka://alice:wr0ngwr0ng@" + broker.Login + "?sasl=scram-sha-256":   "check user, password",
		"kafka://alice:wr0ngwr0ng@" + broker.Login + "?sasl=scram-sha-512":   "see sasl in what output__connection names",
		"kafka://" + broker.Login: "see tls and sasl",
		"kafka://alice:wr0ngwr0ng@" + broker.Address + "?sasl=plain&tls=true": "output__connection",
		"kafka://alice:wr0ngwr0ng@" + broker.Address + "?sasl=scram-sha-256":  "output__connection",
	} {
		begin := time.Now()
		err := open(t, "", topic, connection(t, text)).Deliver(t.Context(), outbox(0, 1))
		failed(t, err, poller.FailedEvent{Index: 0})
		contains(t, err, says)
		if strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("the error has the password: %v", err)
		}
		if took := time.Since(begin); took > 40*time.Second {
			t.Errorf("%s: it took %s to find out: %v", text, took, err)
		}
	}
}

func unauthorized(t *testing.T, broker *testenv.KafkaBroker) {
	topic, free := broker.Topic(t, 1), broker.Topic(t, 1)
	acl := kmsg.NewCreateACLsRequestCreation()
	acl.ResourceType, acl.ResourceName, acl.ResourcePatternType = kmsg.ACLResourceTypeTopic, topic,
		kmsg.ACLResourcePatternTypeLiteral
	acl.Principal, acl.Host, acl.Operation, acl.PermissionType = "User:"+testenv.KafkaUser, "*", kmsg.ACLOperationWrite,
		kmsg.ACLPermissionTypeDeny
	req := kmsg.NewPtrCreateACLsRequest()
	req.Creations = append(req.Creations, acl)
	if err := kerr.ErrorForCode(broker.Do(t, req).(*kmsg.CreateACLsResponse).Results[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
	secret := url.UserPassword(testenv.KafkaUser, testenv.KafkaPassword).String()
	with := connection(t, "kafka://"+secret+"@"+broker.Login+"?sasl=scram-sha-256")
	o := open(t, "", topic, func(c *kafka.Config) {
		with(c)
		c.Destinations = destinations(t, free, map[string]string{"OrderShipped": topic})
	})
	d := outbox(0, 3)
	d.Events[2].Outbox.EventType = "OrderShipped"
	err := o.Deliver(t.Context(), d)
	failed(t, err, poller.FailedEvent{Index: 2, Cause: poller.Misplaced, Named: true})
	contains(t, err, topic, "right to WRITE")
	arrivedOnce(t, broker.Records(t, free), d, 2)
}

// credential gives out tokens without a signature, as the broker's listener takes them.
type credential struct {
	scopes []string
	err    error
}

func (c *credential) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.scopes = append(c.scopes, o.Scopes...)
	now, encode := time.Now(), base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":"publisher","iat":%d,"exp":%d}`, now.Unix(), now.Add(time.Hour).Unix())
	return azcore.AccessToken{Token: encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims)) + ".",
		ExpiresOn: now.Add(time.Hour)}, c.err
}

// certificate reaches brokers that let in only who shows a certificate.
func certificate(t *testing.T, broker *testenv.KafkaBroker) {
	topic := broker.Topic(t, 1)
	cert := tlstest.Certificate("127.0.0.1")
	l, err := tls.Listen("tcp", broker.Proxied, &tls.Config{Certificates: []tls.Certificate{cert},
		ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	proxyOn(t, l, broker.Behind)
	for _, text := range []string{"", tlstest.PEM(cert)} {
		err := open(t, "", topic, func(cfg *kafka.Config) {
			connection(t, "kafka://"+broker.Proxied+"?tls=true&ca="+tlstest.File(t, cert))(cfg)
			cfg.Certificate = text
		}).Deliver(t.Context(), outbox(0, 1))
		if (err == nil) != (text != "") {
			t.Errorf("with %d bytes of certificate: %v", len(text), err)
		}
	}
	if got := len(broker.Records(t, topic)); got != 1 {
		t.Errorf("%d events arrived, want 1", got)
	}
	for _, cfg := range []kafka.Config{
		{Connection: kafka.Connection{Brokers: []string{"h:1"}}, Certificate: tlstest.PEM(cert)},
		{Connection: kafka.Connection{Brokers: []string{"h:1"}, TLS: true}, Certificate: "top secret"},
	} {
		cfg.Destinations = destinations(t, topic, nil)
		_, err := kafka.New(cfg)
		contains(t, err, "output__client_certificate")
		if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}

// identity reaches the broker as Event Hubs is reached: by TLS, and SASL OAUTHBEARER with the token of a credential.
func identity(t *testing.T, broker *testenv.KafkaBroker) {
	topic := broker.Topic(t, 1)
	cert := tlstest.Certificate("127.0.0.1")
	l, err := tls.Listen("tcp", broker.BearerProxied,
		&tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	proxyOn(t, l, broker.BearerBehind)
	c, err := kafka.EventHubs(broker.BearerProxied)
	if err != nil {
		t.Fatal(err)
	}
	// Without the ca, the certificate is nobody's.
	cred := &credential{}
	err = open(t, "", topic, func(cfg *kafka.Config) {
		cfg.Connection, cfg.Credential = c, cred
	}).Deliver(t.Context(), outbox(0, 1))
	failed(t, err, poller.FailedEvent{Index: 0})
	contains(t, err, "certificate")
	c.CAFile = tlstest.File(t, cert)
	o := open(t, "", topic, func(cfg *kafka.Config) { cfg.Connection, cfg.Credential = c, cred })
	if err := o.Deliver(t.Context(), outbox(0, 4)); err != nil {
		t.Fatal(err)
	}
	if got := len(broker.Records(t, topic)); got != 4 {
		t.Errorf("%d events arrived, want 4", got)
	}
	if len(cred.scopes) == 0 || slices.ContainsFunc(cred.scopes, func(s string) bool {
		return s != "https://127.0.0.1/.default"
	}) {
		t.Errorf("scopes of the tokens: %q", cred.scopes)
	}
	cred = &credential{err: errors.New("no identity\nhere")}
	err = open(t, "", topic, func(cfg *kafka.Config) {
		cfg.Connection, cfg.Credential = c, cred
	}).Deliver(t.Context(), outbox(0, 1))
	failed(t, err, poller.FailedEvent{Index: 0})
	contains(t, err, "no identity here")
}
