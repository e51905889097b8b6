package output

import "net/http"

// Unswitched is a transport whose answers end. After 101 Switching Protocols a connection is no longer HTTP's: its body
// has no end, and heeds no deadline. Nobody who sends events or asks for a token wants that, so the connection is
// closed, and the answer has no body.
type Unswitched struct{ Next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t Unswitched) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close() // the status tells all
		resp.Body = http.NoBody
	}
	return resp, err
}
