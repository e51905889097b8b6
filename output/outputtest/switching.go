package outputtest

import (
	"net/http"
	"testing"
)

// SwitchProtocols answers 101, which nobody has asked for, and keeps the connection open until the test ends.
func SwitchProtocols(tb testing.TB) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, wire, err := http.NewResponseController(w).Hijack()
		if err != nil {
			tb.Error(err)
			return
		}
		tb.Cleanup(func() { _ = conn.Close() })
		_, _ = wire.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = wire.Flush()
	}
}
