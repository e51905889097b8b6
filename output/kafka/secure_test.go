package kafka_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/kafka"
)

// TestBrokerThatIsNotProved: a real broker without TLS, and a server whose certificate nobody signed, are not used by
// default when they are another machine's; the error says what to write.
func TestBrokerThatIsNotProved(t *testing.T) {
	broker := testenv.Kafka(t)
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	for name, c := range map[string]struct{ address, says string }{
		"no TLS": {broker.Address, "only with tls=false"}, "not trusted": {web.Listener.Addr().String(), "ca=<file>"},
	} {
		t.Run(name, func(t *testing.T) {
			says := c.says
			_, port, _ := strings.Cut(c.address, ":")
			c, err := kafka.ParseConnection("kafka://0.0.0.0:" + port) // this machine, by an address that is not known for it
			if err != nil || !c.TLS {
				t.Fatalf("%+v, %v", c, err)
			}
			to, err := output.ParseDestinations("orders", nil)
			if err != nil {
				t.Fatal(err)
			}
			o, err := kafka.New(kafka.Config{Connection: c, Destinations: to, Format: change.CloudEvents,
				Timeout: 6 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close() //nolint:errcheck // the test's own
			err = o.Deliver(t.Context(), change.Delivery{Events: []change.Event{{ID: "e1", Row: []byte(`{"id":1}`)}}})
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v", err)
			}
		})
	}
}
