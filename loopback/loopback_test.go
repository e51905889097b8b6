package loopback

import "testing"

func TestIs(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "[::1]": true,
		"/run/postgresql": true,
		"":                false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "localhost.example.com": false,
		"shop.localhost": false,
		"db":             false,
	} {
		if got := Is(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
