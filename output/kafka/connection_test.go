package kafka_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rowrelay/rowrelay/output/kafka"
)

const hubs = "Endpoint=sb://Shop.servicebus.windows.net/;SharedAccessKeyName=send;SharedAccessKey=cGxhbnRlZHBsYW50ZWQ="

func TestParseConnection(t *testing.T) {
	for text, want := range map[string]kafka.Connection{
		"kafka://h":                           {Brokers: []string{"h:9092"}, TLS: true},
		"kafka://h?tls=false":                 {Brokers: []string{"h:9092"}},
		"kafka://localhost,127.0.0.1:1,[::1]": {Brokers: []string{"localhost:9092", "127.0.0.1:1", "[::1]:9092"}},
		"kafka://localhost,h":                 {Brokers: []string{"localhost:9092", "h:9092"}, TLS: true},
		"kafka://localhost?tls=true":          {Brokers: []string{"localhost:9092"}, TLS: true},
		"kafka://u:p@h": {Brokers: []string{"h:9092"}, TLS: true, SASL: kafka.Plain, User: "u",
			Password: "p"},
		"kafka://h?ca=/x": {Brokers: []string{"h:9092"}, TLS: true, CAFile: "/x"},
		" KAFKA://a:1,b,[::1]:3,[::2],10.0.0.1/ ": {Brokers: []string{"a:1", "b:9092", "[::1]:3", "[::2]:9092",
			"10.0.0.1:9092"}, TLS: true},
		"kafka://u:p%40%2f:%25@h:9093?tls=true": {Brokers: []string{"h:9093"}, TLS: true, SASL: kafka.Plain, User: "u",
			Password: "p@/:%"},
		"kafka://u:p@h?tls=false": {Brokers: []string{"h:9092"}, SASL: kafka.Plain, User: "u", Password: "p"},
		"kafka://u:p@h?sasl=SCRAM-SHA-256": {Brokers: []string{"h:9092"}, TLS: true, SASL: kafka.ScramSHA256,
			User: "u", Password: "p"},
		"kafka://u:p@h?sasl=scram-sha-512&tls=true&ca=%2Fetc%2Fca.pem": {
			Brokers: []string{"h:9092"}, TLS: true, CAFile: "/etc/ca.pem", SASL: kafka.ScramSHA512, User: "u", Password: "p",
		},
		hubs: {Brokers: []string{"shop.servicebus.windows.net:9093"}, TLS: true, SASL: kafka.Plain, User: "$ConnectionString",
			Password: hubs},
		hubs + ";EntityPath=orders.events": {
			Brokers: []string{"shop.servicebus.windows.net:9093"}, TLS: true, SASL: kafka.Plain,
			User: "$ConnectionString", Password: hubs + ";EntityPath=orders.events",
		},
		"Endpoint=sb://localhost;SharedAccessKeyName=k;SharedAccessKey=v;UseDevelopmentEmulator=true;": {
			Brokers: []string{"localhost:9092"}, SASL: kafka.Plain, User: "$ConnectionString",
			Password: "Endpoint=sb://localhost;SharedAccessKeyName=k;SharedAccessKey=v;UseDevelopmentEmulator=true;",
		},
	} {
		got, err := kafka.ParseConnection(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(kafka.Connection{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseConnectionRefuses(t *testing.T) {
	const secret = "s3cr3t"
	for text, says := range map[string]string{
		"":                              "kafka://",
		"h:9092":                        "kafka://",
		"amqp://u:s3cr3t@h":             "kafka://",
		"kafka://":                      "broker 1",
		"kafka://a,,b":                  "broker 2",
		"kafka://h:x":                   "broker 1",
		"kafka://h:0":                   "broker 1",
		"kafka://h:65536":               "broker 1",
		"kafka://::1":                   "", // an address without brackets and a port is taken for what it is
		"kafka://1:2:3":                 "broker 1",
		"kafka://a b":                   "broker 1",
		"kafka://u@h":                   "not both",
		"kafka://:s3cr3t@h":             "not both",
		"kafka://u:s3cr3t/x@h":          "", // the last @ ends the password: there is nothing wrong, but plain without tls
		"kafka://u:s3cr3t?x@h":          "percent-encode",
		"kafka://u:s3cr3t#x@h?tls=true": "percent-encode",
		"kafka://h/orders":              "output__destination",
		"kafka://u:s3cr3t%@h?tls=true":  "%25",
		"kafka://u:s3cr3t@localhost":    "in the clear",
		"kafka://h?sasl=plain":          "no user",
		"kafka://u:p@h?sasl=s3cr3t":     "scram-sha-256",
		"kafka://h?s3cr3t=1":            "tls, sasl, ca",
		"kafka://h?tls=s3cr3t":          "neither",
		"kafka://h?tls=true&tls=true":   "twice",
		"kafka://h?ca=/x&tls=false":     "not tls=true",
		"Endpoint=sb://;SharedAccessKeyName=a;SharedAccessKey=s3cr3t":     "Endpoint=sb://NAMESPACE",
		"Endpoint=https://h;SharedAccessKeyName=a;SharedAccessKey=s3cr3t": "Endpoint=sb://NAMESPACE",
		"Endpoint=sb://h;SharedAccessKey=s3cr3t":                          "SharedAccessKeyName",
		"Endpoint=sb://h;SharedAccessKeyName=a":                           "fullyQualifiedNamespace",
	} {
		got, err := kafka.ParseConnection(text)
		if err == nil {
			if says != "" {
				t.Errorf("%s is taken as %+v", text, got)
			}
			continue
		}
		if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v; want %q", text, err, says)
		}
	}
}

func TestConnectionHidesItsPassword(t *testing.T) {
	c, err := kafka.ParseConnection("kafka://alice:s3cr3t@h?tls=true")
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(form, c); strings.Contains(text, "s3cr3t") || !strings.Contains(text, "h:9092") {
			t.Errorf("%s writes %s", form, text)
		}
	}
}

func FuzzParseConnection(f *testing.F) {
	f.Add("kafka://u:", "@h:1,[::1]?tls=true")
	f.Add("Endpoint=sb://h/;SharedAccessKeyName=a;SharedAccessKey=", ";EntityPath=x")
	f.Add("kafka://h?sasl=", "&tls=false")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "Zq7~planted"
		c, err := kafka.ParseConnection(before + secret + after)
		if err != nil {
			if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(secret)) {
				t.Fatalf("the error quotes the secret: %v", err)
			}
			return
		}
		if len(c.Brokers) == 0 || (c.SASL == "") != (c.User == "") || (c.User == "") != (c.Password == "") {
			t.Fatalf("an incomplete connection: %v", c)
		}
	})
}

func FuzzConnectionRoundTrip(f *testing.F) {
	f.Add("alice", "p@ss/w:rd?#%&=+ é\x00")
	f.Fuzz(func(t *testing.T, user, password string) {
		if user == "" || password == "" {
			t.Skip()
		}
		c, err := kafka.ParseConnection("kafka://" + url.UserPassword(user, password).String() + "@h?sasl=scram-sha-512")
		if err != nil || c.User != user || c.Password != password {
			t.Fatalf("user %q password %q became %q %q, %v", user, password, c.User, c.Password, err)
		}
	})
}
