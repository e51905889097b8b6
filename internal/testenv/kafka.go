package testenv

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// KafkaServer is a broker that tests make topics on.
type KafkaServer struct {
	// Address is host:port of a listener without TLS and without login.
	Address string

	client *kgo.Client
}

// Kafka returns the Apache Kafka broker that all tests share. It creates no topic by itself.
func Kafka(tb testing.TB) *KafkaServer {
	tb.Helper()
	return kafkaAt(tb, required(tb, "ROWRELAY_TEST_KAFKA"))
}

// kafkaAt waits until the broker at address answers, and records it.
func kafkaAt(tb testing.TB, address string) *KafkaServer {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		tb.Fatalf("testenv: kafka client: %v", err)
	}
	tb.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		tb.Fatalf("testenv: reach Kafka: %v\nIf it is not running: eval \"$(scripts/services.sh env)\"", err)
	}
	record(tb, "Apache Kafka", kafkaVersion(tb))
	return &KafkaServer{Address: address, client: client}
}

// kafkaVersion is that of the jars which services.sh runs: the protocol does not tell it.
func kafkaVersion(tb testing.TB) string {
	tb.Helper()
	jars, err := filepath.Glob(filepath.Join(required(tb, "ROWRELAY_TEST_KAFKA_LIB"), "kafka-server-[0-9]*.jar"))
	if err != nil || len(jars) != 1 {
		tb.Fatalf("testenv: ROWRELAY_TEST_KAFKA_LIB holds no kafka-server-VERSION.jar (%d, %v)", len(jars), err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "kafka-server-"), ".jar")
}

// TopicName returns a name that no other test has, for a topic that does not exist. Should it come into being, it is
// deleted when the test ends.
func (k *KafkaServer) TopicName(tb testing.TB) string {
	tb.Helper()
	name := databaseName(tb) + ".events"
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setup)
		defer cancel()
		req := kmsg.NewPtrDeleteTopicsRequest()
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		req.Topics, req.TopicNames = append(req.Topics, topic), []string{name}
		if _, err := req.RequestWith(ctx, k.client); err != nil { // that it does not exist is no such error
			tb.Errorf("testenv: delete topic %s: %v", name, err)
		}
	})
	return name
}

// Topic creates a topic for this test; options are name=value of Kafka's topic configuration.
func (k *KafkaServer) Topic(tb testing.TB, partitions int, options ...string) string {
	tb.Helper()
	name := k.TopicName(tb)
	k.Create(tb, name, partitions, options...)
	return name
}

// Create creates a topic of a name that TopicName returned.
func (k *KafkaServer) Create(tb testing.TB, name string, partitions int, options ...string) {
	tb.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), 1 //nolint:gosec // a handful
	for _, option := range options {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		var value string
		config.Name, value, _ = strings.Cut(option, "=")
		config.Value = &value
		topic.Configs = append(topic.Configs, config)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, topic)
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	resp, err := req.RequestWith(ctx, k.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		tb.Fatalf("testenv: create topic %s: %v", name, err)
	}
	// The controller has made it; the broker learns of it a moment later.
	err = Await(setup, func() error {
		if len(k.partitions(tb, name)) < partitions {
			return fmt.Errorf("testenv: topic %s does not come into being", name)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// Delete deletes a topic, and waits until the broker does not know it any more.
func (k *KafkaServer) Delete(tb testing.TB, name string) {
	tb.Helper()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Topics, req.TopicNames = append(req.Topics, topic), []string{name}
	k.Do(tb, req)
	err := Await(setup, func() error {
		if n := len(k.partitions(tb, name)); n > 0 {
			return fmt.Errorf("testenv: topic %s still has %d partitions", name, n)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// partitions returns the partitions of a topic that have a leader.
func (k *KafkaServer) partitions(tb testing.TB, topic string) []int32 {
	tb.Helper()
	req := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &topic
	req.Topics = append(req.Topics, asked)
	var all []int32
	for _, p := range k.Do(tb, req).(*kmsg.MetadataResponse).Topics[0].Partitions {
		if p.ErrorCode == 0 {
			all = append(all, p.Partition)
		}
	}
	return all
}

// Do sends any other request, and fails the test where it is not answered.
func (k *KafkaServer) Do(tb testing.TB, req kmsg.Request) kmsg.Response {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	resp, err := k.client.Request(ctx, req)
	if err != nil {
		tb.Fatalf("testenv: %T: %v", req, err)
	}
	return resp
}

// Records returns all records that a topic of one broker holds, partition by partition in their order.
func (k *KafkaServer) Records(tb testing.TB, topic string) []*kgo.Record {
	tb.Helper()
	left := k.ends(tb, topic)
	client, err := kgo.NewClient(kgo.SeedBrokers(k.Address), kgo.DisableClientMetrics(), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		tb.Fatalf("testenv: kafka consumer: %v", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	var all []*kgo.Record
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			tb.Fatalf("testenv: consume %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			all = append(all, r)
			if end, ok := left[r.Partition]; ok && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		})
	}
	slices.SortStableFunc(all, func(a, b *kgo.Record) int { return int(a.Partition - b.Partition) })
	return all
}

// ends returns the offset after the last record of each partition that has one; none for a topic that does not exist.
func (k *KafkaServer) ends(tb testing.TB, topic string) map[int32]int64 {
	tb.Helper()
	offsets := kmsg.NewPtrListOffsetsRequest()
	of := kmsg.NewListOffsetsRequestTopic()
	of.Topic = topic
	for _, p := range k.partitions(tb, topic) {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = p, -1
		of.Partitions = append(of.Partitions, partition)
	}
	ends := make(map[int32]int64)
	if len(of.Partitions) == 0 {
		return ends
	}
	offsets.Topics = append(offsets.Topics, of)
	for _, t := range k.Do(tb, offsets).(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				tb.Fatalf("testenv: end of %s: %v", topic, err)
			}
			if p.Offset > 0 {
				ends[p.Partition] = p.Offset
			}
		}
	}
	return ends
}
