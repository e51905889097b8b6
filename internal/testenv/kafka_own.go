package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// KafkaBroker is a broker of a test's own, from the same jars as the shared one: it can be killed and started again,
// has a listener that asks for a login, and one that is meant to be reached through a proxy of the test's.
type KafkaBroker struct {
	*KafkaServer
	// Proxied is the address that clients are told where they come through Behind, and where nobody listens: a proxy of
	// the test's does, and passes on to Behind.
	Proxied, Behind string
	// BearerProxied and BearerBehind are the same for a listener with SASL OAUTHBEARER, which takes any token with alg
	// none.
	BearerProxied, BearerBehind string
	// Login is a listener with SASL, PLAIN and SCRAM-SHA-256, and without TLS, for the user KafkaUser.
	Login string

	tb        testing.TB
	dir       string
	listeners []string  // where the broker listens, for clients
	stdin     io.Closer // of the shell around the broker: closing it kills the broker
	ended     chan struct{}
}

// KafkaUser and KafkaPassword log in at KafkaBroker.Login.
const (
	KafkaUser     = "alice"
	KafkaPassword = "alice's secret: 100%/@"
)

// OwnKafka starts a broker and stops it when the test ends. That takes about three seconds and 200 MB.
func OwnKafka(tb testing.TB) *KafkaBroker {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a broker: `make test` runs this")
	}
	b := &KafkaBroker{tb: tb, dir: tb.TempDir()}
	ports := freePorts(tb, 7)
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	b.Behind, b.Proxied, b.Login = address(1), address(2), address(3)
	b.BearerBehind, b.BearerProxied = address(5), address(6)
	b.listeners = []string{address(0), b.Behind, b.Login, b.BearerBehind}
	config := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[5]s
listeners=PLAINTEXT://%[1]s,PROXIED://%[2]s,LOGIN://%[4]s,BEARER://%[9]s,CONTROLLER://%[5]s
advertised.listeners=PLAINTEXT://%[1]s,PROXIED://%[3]s,LOGIN://%[4]s,BEARER://%[10]s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,LOGIN:SASL_PLAINTEXT,BEARER:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.name.login.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_%[6]s="%[7]s";
listener.name.login.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.bearer.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.bearer.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
log.dirs=%[8]s
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
log.cleaner.enable=false
num.network.threads=1
num.io.threads=2
log.index.size.max.bytes=65536
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
`, address(0), b.Behind, b.Proxied, b.Login, address(4), KafkaUser, KafkaPassword, filepath.Join(b.dir, "data"),
		b.BearerBehind, b.BearerProxied)
	if err := os.WriteFile(b.config(), []byte(config), 0o600); err != nil {
		tb.Fatalf("testenv: write Kafka's configuration: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	format := osexec.CommandContext(ctx, "java",
		b.java("kafka.tools.StorageTool", "format", "-t", "cm93cmVsYXktdGVzdC1rYQ", "-c", b.config(),
			"--add-scram", fmt.Sprintf("SCRAM-SHA-256=[name=%s,password=%q]", KafkaUser, KafkaPassword))...)
	if out, err := format.CombinedOutput(); err != nil {
		tb.Fatalf("testenv: format Kafka's storage: %v\n%s", err, out)
	}
	tb.Cleanup(func() { b.Kill() })
	b.Start()
	b.KafkaServer = kafkaAt(tb, address(0))
	return b
}

func (b *KafkaBroker) config() string { return filepath.Join(b.dir, "server.properties") }

func (b *KafkaBroker) java(args ...string) []string {
	b.tb.Helper()
	return append([]string{
		"-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", filepath.Join(required(b.tb, "ROWRELAY_TEST_KAFKA_LIB"), "*"),
	}, args...)
}

// Start starts the broker and waits until it answers.
func (b *KafkaBroker) Start() {
	b.tb.Helper()
	// The shell kills the broker when its stdin ends: by Kill, or because this process is no more.
	cmd := osexec.Command("sh", append([]string{"-c", `java "$@" & broker=$!; read -r _; kill -KILL $broker; wait $broker`,
		"sh"},
		b.java("kafka.Kafka", b.config())...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.tb.Fatalf("testenv: start Kafka: %v", err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.tb.Fatalf("testenv: start Kafka: %v", err)
	}
	b.stdin, b.ended = stdin, make(chan struct{})
	ended := b.ended
	go func() {
		_ = cmd.Wait() // killed, every time
		close(ended)
	}()
	err = Await(setup, func() error {
		if slices.ContainsFunc(b.listeners, refuses) {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		b.Kill()
		b.tb.Fatalf("testenv: Kafka did not start within %s:\n%s", setup, out.String())
	}
}

// refuses reports whether nobody listens at address. A broker opens its listeners, one after another, when it serves.
func refuses(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return true
	}
	_ = c.Close()
	return false
}

// Kill kills the broker with SIGKILL, if it runs, and waits until it is gone.
func (b *KafkaBroker) Kill() {
	if b.stdin == nil {
		return
	}
	_ = b.stdin.Close()
	<-b.ended
	b.stdin = nil
}

// freePorts returns ports below the ephemeral range, so that no outgoing connection takes one while the broker is down.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	for range 1000 {
		port := 20000 + rand.IntN(12000) //nolint:gosec // no secret
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close() //nolint:errcheck // held, so that no port is taken twice
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	tb.Fatal("testenv: no free ports between 20000 and 32000")
	return nil
}
