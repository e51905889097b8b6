package telemetry_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// The same secrets as everybody's: in every setting that takes one, in rows and their keys, in destinations that quote
// what they were sent and in such that cannot be reached. Nothing of them is exported, and what is exported is not
// empty.
func TestNoSecretIsExported(t *testing.T) {
	const s, row = "plantedSecret4711", "plantedRow4711" // the log shows positions, which hold keys; spans do not
	key := base64.StdEncoding.EncodeToString([]byte(s + s))
	to, ok, bad := newCollector(t), newShop(t, http.StatusOK), newShop(t, http.StatusInternalServerError)
	closed := programtest.FreeAddress(t)
	withSecrets := func(server *shop) string {
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User, u.Path, u.RawQuery = url.UserPassword("shop", s), "/hook/"+s, "code="+s
		return u.String()
	}
	header := map[string]string{"output__headers__X_Api_Key": s, "output__headers__Authorization": "Bearer " + s,
		"output__secret": "whsec_" + key}
	pollers := map[string]map[string]string{
		"delivers":   merged(header, map[string]string{"output__url": withSecrets(ok)}),
		"quoted":     merged(header, map[string]string{"output__url": withSecrets(bad)}),
		"refused":    {"output__url": "http://shop:" + s + "@" + closed + "/" + s + "?code=" + s},
		"nodatabase": {"output__url": ok.URL, "source__connection": "BAD_DB"},
		"rabbit":     {"output__kind": "rabbitmq", "output__connection": "RABBIT", "output__destination": "shop.orders"},
		"kafka":      {"output__kind": "kafka", "output__connection": "KAFKA", "output__destination": "shop.orders"},
		"bus": {"output__kind": "servicebus", "output__connection": "BUS", "output__destination": "orders",
			"output__timeout": "2s"},
		"queue": {"output__kind": "queue", "output__connection": "QUEUE", "output__queue": "orders",
			"output__timeout": "2s"},
	}
	settings := map[string]string{
		"state__kind": "file", "status__listen": "127.0.0.1:0", "status__token": s, "log__level": "debug",
		"BAD_DB": "postgres://shop:" + s + "@" + closed + "/" + "shop", "RABBIT": "amqp://shop:" + s + "@" + closed + "/",
		"KAFKA": "kafka://shop:" + s + "@" + closed + "?tls=false",
		"BUS": "Endpoint=sb://" + closed + "/;SharedAccessKeyName=send;SharedAccessKey=" + key +
			";UseDevelopmentEmulator=true",
		"QUEUE": "DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=" + key + ";QueueEndpoint=http://" + closed +
			"/shop",

		"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=" + s + ",authorization=Bearer%20" + s,
		"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "500",
	}
	for name, more := range pollers {
		settings = merged(settings, pollerOf(name, more), map[string]string{"DB_" + name: orders(t, row, row+" more")})
	}
	for name := range pollers {
		if pollers[name]["output__kind"] != "" {
			delete(settings, "pollers__"+name+"__output__url")
		}
	}
	r := start(t, settings, "run")
	for name := range pollers {
		r.Until("there is a tick of "+name, func() bool { return to.named("tick "+name, nil) != nil })
	}
	r.Until("metrics are exported", func() bool { return to.has("rowrelay_failures_total") })
	r.Interrupt() // its exit code is another test's
	for name := range pollers {
		failed := to.find(func(span *traces.Span) bool {
			return span.GetName() == "tick "+name && span.GetStatus().GetCode() == traces.Status_STATUS_CODE_ERROR &&
				span.GetStatus().GetMessage() != ""
		})
		if (failed != nil) != (name != "delivers") {
			t.Errorf("%s: a tick that failed is %v", name, failed)
		}
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if got := to.header.Get("x-key"); got != s { // what is not used could not leak
		t.Errorf("the collector was sent the header %q", got)
	}
	secrets := []string{s, key, base64.StdEncoding.EncodeToString([]byte("shop:" + s))}
	assertNone(t, "the log", r.Log(), secrets)
	assertNone(t, "what is exported", to.raw.String(), append(secrets, row))
}

func assertNone(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	for _, secret := range secrets {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("%s shows a secret: %q", where, text[max(at-300, 0):min(at+100, len(text))])
		}
	}
}
