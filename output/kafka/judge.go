package kafka

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// refusesBatch reports whether err is a broker's answer about the records themselves: repeating them is of no use.
func refusesBatch(err error) bool {
	return tooLarge(err) || errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.InvalidTimestamp)
}

func tooLarge(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge)
}

// missingTopic reports whether a topic is not there, or not the one that the producer knew by its name.
func missingTopic(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || anewTopic(err)
}

func anewTopic(err error) bool { return errors.Is(err, kerr.UnknownTopicID) }

// without returns the records that were not brought, for a reason that is.
func without(records []*sent, is func(error) bool) []*sent {
	var some []*sent
	for _, s := range records {
		if s.err != nil && is(s.err) {
			some = append(some, s)
		}
	}
	return some
}

// ofPlace are the brokers' answers about a topic or a partition, which another one's records need not meet.
var ofPlace = []error{
	kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException,
	kerr.TopicAuthorizationFailed, kerr.PolicyViolation,
	kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.ReplicaNotAvailable, kerr.KafkaStorageError,
	kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend,
}

// misplaced is an error about the one topic that it names, whatever it says.
type misplaced struct{ error }

func (m misplaced) Unwrap() error { return m.error }

func aboutPlace(err error) bool {
	var one misplaced
	return errors.As(err, &one) || slices.ContainsFunc(ofPlace, func(answer error) bool { return errors.Is(err, answer) })
}

// judge says what an error says about its event. Only an answer about the record itself speaks against it: a topic that
// is missing, forbidden or without a leader does not, and the event is sent again when the operator has mended it.
func judge(s *sent) poller.Cause {
	var never impossible
	switch {
	case errors.As(s.err, &never):
		return poller.Impossible
	case aboutPlace(s.err):
		return poller.Misplaced
	case !s.alone || !refusesBatch(s.err):
		return poller.Unavailable
	case tooLarge(s.err):
		return poller.Impossible
	default:
		return poller.Refused
	}
}

// weight orders causes by what is worth telling: what concerns all is worth more to people than what concerns one
// topic, and that more than what concerns one event, which its own rejection names anyway.
func weight(c poller.Cause) int {
	return slices.Index([]poller.Cause{poller.Impossible, poller.Refused, poller.Misplaced, poller.Unavailable}, c)
}

// mend says what to do about an error, for people; "" where the error says it all.
func mend(s *sent) string {
	topic := ""
	if s.record != nil {
		topic = s.record.Topic
	}
	var early *kgo.ErrFirstReadEOF
	switch err := s.err; {
	case anewTopic(err):
		return fmt.Sprintf("topic %s was deleted, or made anew: the next attempt looks for it", topic)
	case missingTopic(err):
		return fmt.Sprintf("create the topic (kafka-topics.sh --bootstrap-server … --create --topic %s; in Event Hubs an event hub of that name), set output__destination, or set state__create=true; the broker's auto.create.topics.enable is not made use of", topic)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return "give the user the right to WRITE to the topic (kafka-acls.sh --producer), or the identity the role Azure Event Hubs Data Sender"
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return "give the user IDEMPOTENT_WRITE on the cluster, which brokers before 3.0 ask of an idempotent producer"
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return "check user, password and sasl of what output__connection names, or the identity's role, Azure Event Hubs Data Sender"
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return "the broker has another mechanism: see sasl in what output__connection names"
	case errors.Is(err, kerr.NotEnoughReplicas), errors.Is(err, kerr.NotEnoughReplicasAfterAppend):
		return fmt.Sprintf("start the brokers that hold topic %s, or lower its min.insync.replicas", topic)
	case errors.Is(err, kerr.LeaderNotAvailable), errors.Is(err, kerr.NotLeaderForPartition):
		return fmt.Sprintf("a partition of topic %s has no leader: start the brokers that hold it", topic)
	case tooLarge(err):
		return fmt.Sprintf("leave columns out with source__columns, take a smaller output__format, or raise max.message.bytes of topic %s", topic)
	case errors.Is(err, kerr.UnsupportedForMessageFormat):
		return "the broker takes no records with headers and producer ids: it must be Kafka 0.11 or later"
	case errors.As(err, &early), errors.Is(err, kerr.IllegalSaslState):
		return "see tls and sasl in what output__connection names: TLS is the default to another machine, and a broker without it is taken only with tls=false"
	case strings.Contains(err.Error(), "x509:"): // crypto/tls has several types for it
		return "the broker's certificate is not trusted: name the authority that signed it with ca=<file> in what output__connection names, " +
			"or ask there for a connection without TLS with tls=false"
	default:
		return ""
	}
}

// sum turns what became of the records into Deliver's error.
func (o *Output) sum(ctx context.Context, all []sent) error {
	var failure poller.DeliveryError
	var worst *sent
	for i := range all {
		s := &all[i]
		if s.err == nil {
			continue
		}
		cause := judge(s)
		failed := poller.FailedEvent{Index: i, Cause: cause, Named: cause != poller.Unavailable}
		if failed.Named {
			failed.Err = o.failure(s.err, "producing to %s: %s", o.place(s), told(s))
		}
		failure.Failed = append(failure.Failed, failed)
		if !errors.Is(s.err, output.ErrBehind) && (worst == nil || weight(cause) > weight(judge(worst))) {
			worst = s
		}
	}
	if worst == nil {
		return nil
	}
	err := worst.err
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = errors.Join(err, context.Cause(ctx))
	}
	failure.Err = o.failure(err, "producing to %s: %d of %d events failed: %s", o.place(worst), len(failure.Failed),
		len(all), told(worst))
	return &failure
}

// place names where a record was to go.
func (o *Output) place(s *sent) string {
	brokers := strings.Join(o.cfg.Connection.Brokers, ",")
	if s.record == nil {
		return brokers
	}
	return fmt.Sprintf("topic %q at %s", s.record.Topic, brokers)
}

// told is what went wrong with a record, and what mends it.
func told(s *sent) string {
	text := strings.TrimSuffix(s.err.Error(), ".")
	if m := mend(s); m != "" {
		text += ": " + m
	}
	return text
}

// failure returns an error with a text of one line without the connection's secret; err stays reachable. Neither
// brokers nor the client repeat a secret: a proxy between them, or a credential's error, might.
func (o *Output) failure(err error, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	for _, secret := range []string{o.cfg.Connection.Password, o.cfg.Connection.key} {
		if len(secret) >= shortest {
			text = strings.NewReplacer(secret, "***", url.QueryEscape(secret), "***", url.PathEscape(secret),
				"***").Replace(text)
		}
	}
	return output.Errorf(err, "%s", text)
}

// shortest is the length below which a password would only garble the text.
const shortest = 6
