package testenv

import (
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// RabbitMQ returns the amqp:// URL, password included, of the broker, and a prefix for the names of this test's
// exchanges and queues. The broker's one vhost is shared by all tests: a new one takes rabbitmqctl, and that takes
// seconds. A test deletes what it declares, or declares it exclusive.
func RabbitMQ(tb testing.TB) (url, prefix string) {
	tb.Helper()
	url = required(tb, "ROWRELAY_TEST_RABBITMQ")
	conn, err := amqp.DialConfig(url, amqp.Config{Dial: amqp.DefaultDial(setup)})
	if err != nil {
		tb.Fatalf("testenv: reach RabbitMQ: %v\nIf it is not running: eval \"$(scripts/services.sh env)\"", err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			tb.Errorf("testenv: close the connection to RabbitMQ: %v", err)
		}
	}()
	product, version := fmt.Sprint(conn.Properties["product"]), fmt.Sprint(conn.Properties["version"])
	if product != "RabbitMQ" {
		tb.Fatalf("testenv: what ROWRELAY_TEST_RABBITMQ names is no RabbitMQ: it says that it is %q", product)
	}
	record(tb, product, version)
	return url, databaseName(tb)
}
