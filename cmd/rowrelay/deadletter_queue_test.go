package main

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/status"
)

// TestHangingDeadLetterQueue: two rows are given up at once, and the queue for dead letters takes connections and never
// answers. The tick commits what it delivered, keeps the two parked, and says what hangs.
func TestHangingDeadLetterQueue(t *testing.T) {
	ended := make(chan struct{})
	queue := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	t.Cleanup(queue.Close)
	t.Cleanup(func() { close(ended) })
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__max_attempts"], s.settings["pollers__orders__output__timeout"] = "1", "1s"
	s.settings["pollers__orders__dead_letter__kind"] = "queue"
	s.settings["pollers__orders__dead_letter__queue"] = "dead"
	s.settings["pollers__orders__dead_letter__connection"] = "DEAD"
	s.settings["DEAD"] = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=" +
		base64.StdEncoding.EncodeToString([]byte("k")) +
		";QueueEndpoint=" + queue.URL + "/a;BlobEndpoint=" + queue.URL + "/a"
	s.receiver(`"note":"bad"`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, 'bad'), (3, 3, 'bad'), (4, 4, '')`)
	_, errs, err := s.cli("run", "--once")
	for _, want := range []string{`"event":"handler_failed"`, "dead_letter__kind", `"rows":4`} {
		if err == nil || !strings.Contains(errs, want) {
			t.Errorf("the log lacks %s: %v\n%s", want, err, errs)
		}
	}
	if o := s.want("its dead letters cannot be written", status.Failing); o.Parked != 2 {
		t.Errorf("%+v", o)
	}
}
