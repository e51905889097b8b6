package kafka

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rowrelay/rowrelay/poller"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		err   error
		alone bool
		want  poller.Cause
	}{
		{kerr.UnknownTopicOrPartition, false, poller.Misplaced},
		{kerr.TopicAuthorizationFailed, false, poller.Misplaced},
		{kerr.InvalidTopicException, true, poller.Misplaced},
		{fmt.Errorf("wrapped: %w", kerr.LeaderNotAvailable), false, poller.Misplaced},
		{kerr.NotEnoughReplicas, false, poller.Misplaced},
		{kerr.NotEnoughReplicasAfterAppend, false, poller.Misplaced},
		{misplaced{kerr.InvalidReplicationFactor}, false, poller.Misplaced},
		{kerr.InvalidReplicationFactor, false, poller.Unavailable},
		{kerr.ClusterAuthorizationFailed, true, poller.Unavailable},
		{kerr.SaslAuthenticationFailed, true, poller.Unavailable},
		{kerr.BrokerNotAvailable, true, poller.Unavailable},
		{kerr.ThrottlingQuotaExceeded, true, poller.Unavailable},
		{errors.New("dial tcp: refused"), true, poller.Unavailable},
		{kerr.MessageTooLarge, true, poller.Impossible},
		{kerr.MessageTooLarge, false, poller.Unavailable},
		{kerr.InvalidTimestamp, true, poller.Refused},
		{impossible{errTopicName}, true, poller.Impossible},
	} {
		if got := judge(&sent{err: c.err, alone: c.alone}); got != c.want {
			t.Errorf("%v, alone %t: %s, want %s", c.err, c.alone, got, c.want)
		}
	}
}
