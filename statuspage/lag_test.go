package statuspage

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// TestThePageSaysSinceWhenRowsWait: once, by its sentence where that is its word already, and then in its line, too.
func TestThePageSaysSinceWhenRowsWait(t *testing.T) {
	for health, says := range map[status.Health]string{
		status.Lagging: "Rows have been waiting since 2026-04-07 12:00:00 UTC: they come faster than they are delivered",
		status.Healthy: "The last tick succeeded",
	} {
		s := openShop()
		since := time.Date(2026, 4, 7, 12, 0, 0, 0, time.UTC)
		s.report.Outputs = []status.Output{{Poller: "orders", Mode: "cursor", Health: health, Says: says,
			WaitingSince: &since}, {Poller: "stock", Mode: "cursor", Health: status.Healthy}}
		text := get(t, View(Config{Reader: s, Operator: s}), "/api/status").text
		const line = `Rows waiting since <time datetime="2026-04-07T12:00:00Z">2026-04-07 12:00:00 UTC</time>`
		said := map[status.Health]int{status.Lagging: 2, status.Healthy: 1}[health]
		if strings.Contains(text, line) == (health == status.Lagging) || !strings.Contains(text, says) ||
			strings.Count(text, "2026-04-07 12:00:00 UTC") != said {
			t.Errorf("%s:\n%s", health, text)
		}
		if !strings.Contains(text, `class="card `+string(health)+`"`) {
			t.Errorf("the card is not of the class %s", health)
		}
	}
}
