package wiring

import (
	"io"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/config"
)

// TestLinksThatLeaveUnverified: every connection that leaves this machine without verified TLS has one warning, and no
// other has.
func TestLinksThatLeaveUnverified(t *testing.T) {
	const key = ";AccountName=shop;AccountKey=eA=="
	output := func(kind, connection string) []string {
		return []string{"pollers__orders__output__kind=" + kind, "pollers__orders__output__connection=TO", "TO=" + connection}
	}
	for _, c := range []struct {
		settings []string
		says     string // of the one warning; "" for none
	}{
		{nil, ""},
		{[]string{"DB=postgres://u:p@db.example.com/shop?sslmode=require"}, "sslmode is require"},
		{[]string{"DB=mysql://u:p@db.example.com/shop"}, ""},
		{[]string{"DB=mysql://u:p@db.example.com/shop?tls=false"}, "not encrypted (tls=false)"},
		{[]string{"DB=Server=db.example.com;Database=shop;User ID=u;Password=p;TrustServerCertificate=True"},
			"TrustServerCertificate"},
		{[]string{"pollers__orders__output__url=http://hooks.example.com/x"}, "plain http to another machine"},
		{[]string{"pollers__orders__output__url=http://127.0.0.1/x"}, ""},
		{output("rabbitmq", "amqp://u:p@broker.example.com/"), "amqp, which is AMQP without TLS"},
		{output("rabbitmq", "amqps://u:p@broker.example.com/"), ""},
		{output("rabbitmq", "amqp://u:p@localhost/"), ""},
		{output("kafka", "kafka://broker.example.com"), ""},
		{output("kafka", "kafka://localhost"), ""},
		{output("kafka", "kafka://broker.example.com?tls=false"), "(tls=false)"},
		{output("kafka", "kafka://localhost,broker.example.com?tls=false"), "(tls=false)"},
		{output("servicebus", "Endpoint=sb://shop.servicebus.windows.net;SharedAccessKeyName=n;SharedAccessKey=eA=="), ""},
		{output("servicebus", "Endpoint=sb://emulator;SharedAccessKeyName=n;SharedAccessKey=eA==;UseDevelopmentEmulator=true"), "UseDevelopmentEmulator"},
		{output("eventhubs", "Endpoint=sb://localhost;SharedAccessKeyName=n;SharedAccessKey=eA==;UseDevelopmentEmulator=true"), ""},
		{output("queue", "UseDevelopmentStorage=true"), ""},
		{output("queue", "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite"),
			"the output to azurite is not encrypted (plain http)"},
		{output("queue", "DefaultEndpointsProtocol=http"+key), "shop.queue.core.windows.net"},
		{output("queue", "EndpointSuffix=core.usgovcloudapi.net"+key), ""},
		{[]string{"state__kind=blob", "AzureWebJobsStorage=DefaultEndpointsProtocol=http" + key},
			"the state store to shop.blob.core.windows.net"},
		{[]string{"state__kind=blob", "AzureWebJobsStorage=BlobEndpoint=http://localhost:10000/shop" + key}, ""},
		{[]string{"pollers__orders__dead_letter__kind=queue", "pollers__orders__dead_letter__connection=Q",
			"Q=DefaultEndpointsProtocol=http" + key}, "the queue of dead letters"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example.com"}, ""},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"}, ""},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://otel.example.com"},
			"of telemetry to otel.example.com is not encrypted (plain http)"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://otel.example.com", "OTEL_SDK_DISABLED=true"}, ""},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://otel.example.com"}, "of the traces to otel.example.com"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example.com", "OTEL_EXPORTER_OTLP_INSECURE=true"},
			"OTEL_EXPORTER_OTLP_INSECURE=true"},
	} {
		settings := c.settings
		for _, s := range settings {
			if strings.Contains(s, "output__connection") { // no output of HTTP
				settings = append([]string{"pollers__orders__output__secret=", "pollers__orders__output__url="}, settings...)
			}
		}
		a := wiredApp(t, settings...)
		var said []string
		for _, w := range append(append(config.Faults{}, a.Config.Warnings...), a.Pollers[0].Warnings...) {
			said = append(said, w.Error())
		}
		all := strings.Join(said, "\n")
		if len(said) > 1 || (len(said) == 1) != (c.says != "") || !strings.Contains(all, c.says) {
			t.Errorf("%q: %q; want %q", c.settings, said, c.says)
		}
		if strings.Contains(all, "eA==") || strings.Contains(all, ":p@") {
			t.Errorf("a secret is shown: %s", all)
		}
	}
}

// wiredApp is a poller over PostgreSQL to HTTP, in which nothing is at fault, with settings changed or added,
// "name=value", or taken away, "name=".
func wiredApp(t *testing.T, settings ...string) *App {
	t.Helper()
	env := map[string]string{
		"state__kind": "file", "state__path": "/var/lib/rowrelay", "state__app_name": "shop",
		"DB":                                  "postgres://reader:x@db.example.com/shop",
		"pollers__orders__source__connection": "DB", "pollers__orders__source__table": "orders",
		"pollers__orders__source__cursor": "tx",
		"pollers__orders__output__url":    "https://hooks.example.com/x", "pollers__orders__output__kind": "http",
		"pollers__orders__output__secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if env[name] = value; value == "" {
			delete(env, name)
		}
	}
	process := &Process{Out: io.Discard}
	for name, value := range env {
		process.Environ = append(process.Environ, name+"="+value)
	}
	cfg, err := config.Load(process.Environ)
	if err != nil {
		t.Fatal(err)
	}
	a := New(cfg, process)
	t.Cleanup(func() { _ = a.Close() })
	if faults := a.Pollers[0].Faults; len(faults) > 0 {
		t.Fatal(faults)
	}
	return a
}
