package tracking_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/poller"
)

// TestUnreadableKeyThatIsGone: a row whose key has no form stops the poller until it is corrected or deleted. Its
// delete is then a dead letter, and the poller goes on, also in the next process.
func TestUnreadableKeyThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	s := usual
	s.maxAttempts = 1
	i := r.instance(s)
	r.exec("INSERT INTO orders VALUES (CAST(x'ff' AS TEXT), 1), (x'41', 1)")
	if report := i.Tick(t.Context()); report.Event != poller.NormalizeFailed {
		t.Errorf("with the rows: %s, %v", report.Event, report.Err)
	}
	r.exec("DELETE FROM orders WHERE id <> x'41'", "UPDATE orders SET id = 1")
	r.until(i, inserts(1, 1))
	r.insert(2, 2)
	r.until(r.instance(s), inserts(2, 2))
	if len(r.letters) != 2 {
		t.Fatalf("dead letters: %+v", r.letters)
	}
	for n, key := range []string{`{"id":{"text_base64":"/w=="}}`, `{"id":{"blob_base64":"QQ=="}}`} {
		if d := r.letters[n]; string(d.Event.Key) != key || !strings.Contains(d.Reason, "is gone") {
			t.Errorf("dead letter %d: %s, %s", n, d.Event.Key, d.Reason)
		}
	}
}
