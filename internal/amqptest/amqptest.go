// Package amqptest gives a test the AMQP 1.0 peer that stands for Azure Service Bus and Event Hubs, which have no
// emulator outside containers: Apache Qpid Proton, an implementation of the protocol that shares nothing with the Azure
// SDKs, with what a sender sees of the services on top (peer.py). The SDKs reach it by the connection string of a
// development emulator, so without TLS, and it believes every token.
//
// What passes against it is proved for the SDK, the wire and the failures that the peer makes; that the services answer
// so is what their documentation says, and nothing here has seen Azure.
package amqptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// start bounds the start of the peer, the installing of Proton (once for a machine) included.
const start = 5 * time.Minute

// Rule is how an address fails; its zero value does not.
type Rule struct {
	// Attach refuses links.
	Attach *Condition `json:"attach,omitempty"`
	// Max is the max-message-size of links, in bytes; 0 means 256 KiB.
	Max int `json:"max,omitempty"`
	// Do is what becomes of transfers: Accept, Hold and so on.
	Do string `json:"do,omitempty"`
	Condition
	// Only limits Do to messages with these ids, Times to this many transfers (0: all).
	Only  []string `json:"only,omitempty"`
	Times int      `json:"times,omitempty"`
	// Token is the status that put-token answers for the address; 0 means 202.
	Token int `json:"token,omitempty"`
}

// Condition is an AMQP error.
type Condition struct {
	Condition   string `json:"condition,omitempty"`
	Description string `json:"description,omitempty"`
}

// What becomes of transfers.
const (
	Hold    = "hold"    // no disposition, ever
	Reject  = "reject"  // with the condition
	Release = "release" // not accepted, and not rejected
	Modify  = "modify"  // the same in other words
	Detach  = "detach"  // the link ends with the condition
	Cut     = "cut"     // the TCP connection ends
)

// Message is one that the peer accepted.
type Message struct {
	ID          string         `json:"id"`
	Group       string         `json:"group"` // SessionID
	Subject     string         `json:"subject"`
	ContentType string         `json:"content_type"`
	Properties  map[string]any `json:"properties"`  // application properties
	Annotations map[string]any `json:"annotations"` // message annotations
	Body        []byte         `json:"body"`
	Batch       bool           `json:"batch"`    // it came in a batch
	Envelope    map[string]any `json:"envelope"` // annotations of the batch
}

// Stats are what the peer has seen so far.
type Stats struct {
	Connections int            `json:"connections"`
	Transfers   int            `json:"transfers"` // but for tokens
	Links       map[string]int `json:"links"`     // opened by senders, by address
	Audiences   [][]any        `json:"audiences"` // of put-token: audience, type, whether there was a token
}

// Peer is one process of the peer. It ends with the test.
type Peer struct {
	tb   testing.TB
	port int
	mu   sync.Mutex // one command at a time
	in   io.Writer
	out  *bufio.Scanner
}

// Start starts a peer of the test's own.
func Start(tb testing.TB) *Peer {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a broker: `make test` runs this")
	}
	_, file, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(file), "..", "..", "scripts", "amqp-peer.sh")
	port := freePort(tb)
	cmd := exec.Command(script, strconv.Itoa(port)) //nolint:gosec,noctx // this repository's own script; it ends with its standard input
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("amqptest: start %s: %v", script, err)
	}
	tb.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = cmd.Wait()
		if tb.Failed() && stderr.Len() > 0 {
			tb.Logf("amqptest: the peer said: %s", stderr.String())
		}
	})
	p := &Peer{tb: tb, port: port, in: in, out: bufio.NewScanner(out)}
	p.out.Buffer(nil, 256<<20)
	late := time.AfterFunc(start, func() { _ = cmd.Process.Kill() })
	var hello struct {
		Ready  bool   `json:"ready"`
		Proton string `json:"proton"`
	}
	if !p.out.Scan() || json.Unmarshal(p.out.Bytes(), &hello) != nil || !hello.Ready {
		_ = in.Close()
		_ = cmd.Wait()
		tb.Fatalf("amqptest: the AMQP peer did not start: %s\nIt needs Debian's python3-qpid-proton: as root the script installs it, otherwise: sudo apt-get install python3-qpid-proton", stderr.String())
	}
	late.Stop()
	record(tb, "Qpid Proton "+hello.Proton+" as the AMQP 1.0 peer of Service Bus and Event Hubs")
	return p
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it only kept the port
	return l.Addr().(*net.TCPAddr).Port
}

// Connection is the connection string of the peer.
func (p *Peer) Connection() string {
	return fmt.Sprintf("Endpoint=sb://localhost:%d;SharedAccessKeyName=sender;SharedAccessKey=cGxhbnRlZA==;UseDevelopmentEmulator=true", p.port)
}

// Address is the TCP address of the peer.
func (p *Peer) Address() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

// Unreachable is the connection string of a namespace where nothing listens.
const Unreachable = "Endpoint=sb://localhost:1;SharedAccessKeyName=sender;SharedAccessKey=cGxhbnRlZA==;UseDevelopmentEmulator=true"

// Set replaces the rule of an address, for links and transfers from now on.
func (p *Peer) Set(address string, r Rule) {
	p.tb.Helper()
	p.ask(map[string]any{"op": "set", "address": address, "rule": r}, nil)
}

// Received returns the messages that an address accepted, in order.
func (p *Peer) Received(address string) []Message {
	p.tb.Helper()
	var answer struct{ Messages []Message }
	p.ask(map[string]any{"op": "received", "address": address}, &answer)
	return answer.Messages
}

// Stats returns what the peer has seen.
func (p *Peer) Stats() Stats {
	p.tb.Helper()
	var s Stats
	p.ask(map[string]any{"op": "stats"}, &s)
	return s
}

// Arrived returns a channel that is closed when the peer has seen as many transfers.
func (p *Peer) Arrived(transfers int) <-chan struct{} {
	ctx := p.tb.Context()
	seen, polling := make(chan struct{}), make(chan struct{})
	p.tb.Cleanup(func() { <-polling })
	go func() {
		defer close(polling)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for p.Stats().Transfers < transfers {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		close(seen)
	}()
	return seen
}

// Cut ends every TCP connection without a word, as a failing network does.
func (p *Peer) Cut() {
	p.tb.Helper()
	p.ask(map[string]any{"op": "cut"}, nil)
}

func (p *Peer) ask(command map[string]any, answer any) {
	p.tb.Helper()
	line, err := json.Marshal(command)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		p.tb.Fatalf("amqptest: the peer is gone: %v", err)
	}
	if !p.out.Scan() {
		p.tb.Fatalf("amqptest: the peer ended: %v", p.out.Err())
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(p.out.Bytes(), answer); err != nil {
		p.tb.Fatalf("amqptest: the peer answered %q: %v", p.out.Text(), err)
	}
}

var recorded sync.Map

// record adds a line to the engines that `make test` ends with.
func record(tb testing.TB, engine string) {
	tb.Helper()
	path := os.Getenv("ROWRELAY_TEST_ENGINES_FILE")
	if _, again := recorded.LoadOrStore(engine, true); again || path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		tb.Fatalf("amqptest: open ROWRELAY_TEST_ENGINES_FILE: %v", err)
	}
	defer f.Close() //nolint:errcheck // the write says what is wrong
	if _, err := f.WriteString(engine + "\n"); err != nil {
		tb.Errorf("amqptest: write ROWRELAY_TEST_ENGINES_FILE: %v", err)
	}
}
