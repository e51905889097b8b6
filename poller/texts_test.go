package poller_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/poller"
)

// TestAnswersAreLeftOut: whatever a destination says, also with marks of its own, also in a text that was cut.
func TestAnswersAreLeftOut(t *testing.T) {
	for answer, text := range map[string]string{
		"row 4711": "delivering: http://shop answered 422 (check it): " + poller.QuoteAnswer("row 4711") +
			", next in 5s",
		"x » 4711 « y":         "delivering: " + poller.QuoteAnswer("x » 4711 « y") + " and " + poller.QuoteAnswer("4711"),
		"cut 4711 and no more": poller.QuoteAnswer("cut 4711 and no more" + strings.Repeat("4711", 100))[:200],
	} {
		if !strings.Contains(text, "4711") {
			t.Fatalf("%q lacks the answer", text)
		}
		if got := poller.WithoutAnswers(text); strings.Contains(got, "4711") || !strings.Contains(got, "«…»") {
			t.Errorf("%q: %q", answer, got)
		}
	}
	if got := poller.WithoutAnswers("a " + poller.QuoteAnswer("b") + " c"); got != "a «…» c" {
		t.Errorf("%q", got)
	}
	if got := poller.WithoutAnswers("nothing » was answered"); got != "nothing » was answered" {
		t.Errorf("%q", got)
	}
}
