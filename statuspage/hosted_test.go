package statuspage

import (
	"net/http"
	"testing"
)

// TestWithoutKeysOnlyNamesOfThisMachineAreAnswered: under func start everybody passes for an admin. A web site whose
// name leads to this machine sends that name as Host and as Origin, and its browser no Sec-Fetch-Site.
func TestWithoutKeysOnlyNamesOfThisMachineAreAnswered(t *testing.T) {
	const form = "do=pause&poller=orders&yes=true"
	for _, test := range []struct {
		host    string
		keyless bool
		code    int
	}{
		{"evil.example:7071", true, http.StatusForbidden},
		{"192.0.2.7:7071", true, http.StatusForbidden},
		{"localhost:7071", true, http.StatusOK},
		{"127.0.0.1:7071", true, http.StatusOK},
		{"shop.azurewebsites.net", false, http.StatusOK},
	} {
		s := openShop()
		cfg := Config{Reader: s, Operator: s, Keyless: test.keyless}
		view := &desk{t: t, handler: View(cfg), address: "127.0.0.1:5"}
		for _, path := range []string{"/api/status", "/api/status.json", "/api/status?do=pause&poller=orders"} {
			view.wants(test.host+path, view.send("GET", path, "", "Host", test.host), test.code)
		}
		act := &desk{t: t, handler: Actions(cfg, EasyAuth("")), address: "127.0.0.1:5"}
		act.wants(test.host, act.send("POST", "/api/status/actions", form, "Host", test.host, "Origin", "http://"+test.host),
			test.code)
		if done := s.done(); (len(done) == 1) != (test.code == http.StatusOK) {
			t.Errorf("%s, keyless %t: did %q", test.host, test.keyless, done)
		}
	}
}

// TestThisMachine is the handler's own port, which only the host is to call.
func TestThisMachine(t *testing.T) {
	for host, code := range map[string]int{"127.0.0.1:5001": http.StatusOK, "localhost:5001": http.StatusOK,
		"[::1]:5001":        http.StatusOK,
		"evil.example:5001": http.StatusForbidden, "10.0.0.1:5001": http.StatusForbidden, "": http.StatusForbidden} {
		d := &desk{t: t, handler: ThisMachine(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})),
			address: "127.0.0.1:5"}
		for _, method := range []string{"GET", "POST"} {
			d.wants(host, d.send(method, "/metrics", "", "Host", host), code)
		}
	}
}
