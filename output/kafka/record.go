package kafka

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
)

// sent is an event's record and what became of it.
type sent struct {
	record *kgo.Record
	// err is nil where the brokers have confirmed the record.
	err error
	// alone says that nothing but this record can be meant by err.
	alone bool
	// before is the record before this one of the same order key; nil where there is none.
	before *sent
}

// fit returns the records that may be sent. One that comes after one of its order key which failed may not.
func fit(records []*sent) (list []*sent) {
	fail(records, nil)
	for _, s := range records {
		if s.before != nil && s.before.err != nil {
			s.err = output.ErrBehind
			continue
		}
		list = append(list, s)
	}
	return list
}

// windows divides records so that those of one order key in a window are in one batch, which a broker takes as a whole
// or not at all: for one topic, and with all the others of the window no larger than a batch may be. Where no two have
// one order key there is one window.
func windows(records []*sent, most int) (list [][]*sent) {
	chained := slices.ContainsFunc(records, func(s *sent) bool { return s.before != nil })
	if !chained {
		return [][]*sent{records}
	}
	size, begun := batchOverhead, 0
	for i, s := range records {
		own := mostOf(s.record)
		moved := s.before != nil && s.before.record != nil && s.before.record.Topic != s.record.Topic
		if i > begun && (moved || size+own > most) {
			list, begun, size = append(list, records[begun:i]), i, batchOverhead
		}
		size += own
	}
	return append(list, records[begun:])
}

// impossible is an event that cannot be a record.
type impossible struct{ error }

// encode turns events into records, by index. Those that cannot be one have an impossible error, and are not sent.
func (o *Output) encode(d *change.Delivery) []sent {
	all := make([]sent, len(d.Events))
	records := make([]kgo.Record, len(d.Events))
	now, last := time.Now(), make(map[string]*sent, len(d.Events))
	// all that records hold; where it has to grow, those before keep the old array, which nobody writes to any more
	var buf []byte
	var attributes []change.Attribute
	for i := range d.Events {
		e, s := &d.Events[i], &all[i]
		s.before = last[string(e.OrderKey)]
		last[string(e.OrderKey)] = s
		topic, err := o.cfg.Destinations.Of(d, e)
		if err == nil {
			err = checkTopic(topic)
		}
		if err != nil {
			s.err, s.alone = impossible{fmt.Errorf("event %s: %w", e.ID, err)}, true
			continue
		}
		start := len(buf)
		buf = o.cfg.Format.AppendEvent(buf, d, i)
		r := &records[i]
		r.Topic, r.Value, r.Timestamp = topic, buf[start:len(buf):len(buf)], recordTime(e, now)
		if key := e.MessageKey(); key != "" { // without an aggregate there is no order to keep: null goes to any partition
			r.Key, buf = appended(buf, key)
		}
		attributes = d.Attributes(attributes[:0], e)
		// CloudEvents' Kafka binding recognises the structured mode by content-type.
		attributes = append(attributes, change.Attribute{Name: "content-type", Value: o.cfg.Format.ContentTypeOf(e)})
		r.Headers = make([]kgo.RecordHeader, len(attributes))
		for k, attribute := range attributes {
			r.Headers[k].Key = attribute.Name
			r.Headers[k].Value, buf = appended(buf, attribute.Value)
		}
		if size := sizeOf(r); size > o.cfg.MaxMessage {
			s.err, s.alone = impossible{fmt.Errorf(
				"event %s takes %d bytes as a record, and a message takes %d: leave columns out with source__columns, take a smaller output__format, or let brokers (message.max.bytes), topic (max.message.bytes) and this output (output__max_message_bytes) take more",
				e.ID, size, o.cfg.MaxMessage)}, true
			continue
		}
		s.record = r
	}
	return all
}

func sendable(all []sent) []*sent {
	records := make([]*sent, 0, len(all))
	for i := range all {
		if all[i].err == nil {
			records = append(records, &all[i])
		}
	}
	return records
}

// appended adds text to buf, and returns it as a part of buf, too.
func appended(buf []byte, text string) (part, all []byte) {
	start := len(buf)
	buf = append(buf, text...)
	return buf[start:len(buf):len(buf)], buf
}

// sizeOf is a little less than what the record takes in a batch: the client, which knows to the byte, looks again.
func sizeOf(r *kgo.Record) int {
	size := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += len(h.Key) + len(h.Value)
	}
	return size
}

// mostOf is more than what the record takes in a batch, which itself takes batchOverhead at most.
func mostOf(r *kgo.Record) int { return sizeOf(r) + 40 + 10*len(r.Headers) }

const batchOverhead = 1024

// nearNow is how far a record's time may be from now.
const nearNow = time.Hour

// recordTime is the event's own time if that is within an hour from now, else now. Kafka's retention goes by the
// records' times: a row of last year, sent by a backfill or after a long outage, would be deleted before anybody reads
// it. And a broker refuses what is more than an hour ahead (message.timestamp.after.max.ms). The header created_at and
// the value keep the truth.
func recordTime(e *change.Event, now time.Time) time.Time {
	t := e.Time
	if e.Outbox != nil && !e.Outbox.CreatedAt.IsZero() {
		t = e.Outbox.CreatedAt
	}
	if t.Before(now.Add(-nearNow)) || t.After(now.Add(nearNow)) {
		return now
	}
	return t
}

// legalTopic is Kafka's rule, but for "." and "..".
var legalTopic = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// checkTopic refuses what no broker takes for a topic's name.
func checkTopic(topic string) error {
	if legalTopic.MatchString(topic) && topic != "." && topic != ".." {
		return nil
	}
	return output.Errorf(errTopicName,
		"its destination %.300q is no legal name of a topic: 1 to 249 letters, digits, '.', '_' and '-'; set output__destination or output__destinations__<event_type>", topic)
}

var errTopicName = errors.New("not a topic's name")

func fail(records []*sent, err error) {
	for _, s := range records {
		s.err = err
	}
}
