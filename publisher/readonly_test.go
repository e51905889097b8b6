package publisher

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestReadOnlyServer: an outbox can be read on a standby, and nothing of it be published. `rowrelay check` found no
// fault there. The connections to a server that has failed over live on, and are left.
func TestReadOnlyServer(t *testing.T) {
	b := newBench(t, testenv.Postgres)
	p := b.publish(engineConfig(b, claims.Partitioned))
	if err := p.Writable(t.Context()); err != nil {
		t.Fatal(err)
	}
	writable := testenv.ReadOnly(t, b.url)
	other := b.publish(engineConfig(b, claims.Partitioned))
	if _, err := other.About(t.Context()); err != nil {
		t.Errorf("it cannot be read: %v", err)
	}
	err := other.Writable(t.Context())
	if err == nil || !strings.Contains(err.Error(), "source__connection") || !strings.Contains(err.Error(), "primary") {
		t.Errorf("check: %v", err)
	}
	if err := other.Pause(t.Context(), "me"); err == nil || !strings.Contains(err.Error(), "source__connection") {
		t.Errorf("a write: %v", err)
	}
	writable()
	if err := other.Writable(t.Context()); err != nil {
		t.Errorf("its name leads to a primary now: %v", err)
	}
}
