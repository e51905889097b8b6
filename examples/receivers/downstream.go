package receivers

import (
	"bytes"
	"io"
	"net/http"
)

// Downstream hands each event on to an API that knows idempotency keys (a payment service, a broker), under the
// key {poller_name}:{pk_hash}:{cursor}. It keeps nothing itself: what a key means is the API's promise, and so is how
// long it remembers one. It reads output__format=row with output__batch=1, where the parts of the key are in headers.
//
// An API that takes short keys only may be given a hash of this one.
type Downstream struct {
	// URL is where events go, Client what sends them.
	URL    string
	Client *http.Client
}

// IdempotencyKey is the key {poller_name}:{pk_hash}:{cursor} of a request that holds one event.
func IdempotencyKey(h http.Header) string {
	return h.Get("Rowrelay-Poller") + ":" + h.Get("Rowrelay-Key-Hash") + ":" + h.Get("Rowrelay-Cursor")
}

// ServeHTTP takes one request, which is one row.
func (d *Downstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Rowrelay-Key-Hash") == "" {
		http.Error(w, "set output__batch=1: this receiver takes one event for each request", http.StatusBadRequest)
		return
	}
	row, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "cannot read the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, d.URL, bytes.NewReader(row))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", IdempotencyKey(r.Header))
	resp, err := d.Client.Do(req)
	if err != nil {
		// It may have taken effect. The relay asks again, and the key makes that harmless.
		http.Error(w, "the downstream did not answer", http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }() // the answer's status is all that counts
	// A refusal is handed back as it is: the relay does not take a 4xx for an outage.
	w.WriteHeader(resp.StatusCode)
}
