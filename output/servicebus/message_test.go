package servicebus

import (
	"testing"

	"github.com/rowrelay/rowrelay/output/azmessaging"
)

// An event without an aggregate belongs to no session: not to one of the empty name, which all such events would share.
func TestSession(t *testing.T) {
	if m := message(&azmessaging.Message{ID: "1"}); m.SessionID != nil || m.PartitionKey != nil {
		t.Errorf("without a key: %+v", m)
	}
	if m := message(&azmessaging.Message{ID: "1", Key: "42"}); m.SessionID == nil || *m.SessionID != "42" ||
		*m.PartitionKey != "42" {
		t.Errorf("with the key 42: %+v", m)
	}
}
