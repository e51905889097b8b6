package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// shellBlocks returns the blocks of a page that a shell runs, in their order, that have one of the tags: "sh" alone has "".
func shellBlocks(t *testing.T, page string, tags ...string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, m := range regexp.MustCompile("(?ms)^```sh *([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		for _, tag := range tags {
			if m[1] == tag {
				script.WriteString(m[2])
			}
		}
	}
	if script.Len() == 0 {
		t.Fatalf("%s has no commands", page)
	}
	return script.String()
}

// runPage runs a script as a reader would type it, in an empty directory, and returns what it printed.
func runPage(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program, filepath.Join(bin, "rowrelay")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = settings{"status__listen": "127.0.0.1:0", "AzureWebJobsStorage": "UseDevelopmentStorage=true"}.environ()
	for i, pair := range cmd.Env {
		if path, ok := strings.CutPrefix(pair, "PATH="); ok {
			cmd.Env[i] = "PATH=" + bin + ":" + path
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestOutboxPage runs every command of docs/outbox.md that works on the quick start's SQLite file, in the page's order.
func TestOutboxPage(t *testing.T) {
	t.Parallel()
	out := runPage(t, shellBlocks(t, "../docs/outbox.md", "setup", "", "fanout"))
	wants(t, out, "1 pending, 0 failed", `"id":"order-placed-42"`, `{"order_id": 42}`, "no event is pending",
		"paused", "resumed", "events_cleanup/function.json written", "events_partition/function.json written", "0 event(s) were deleted")
}

// TestOutboxPageLegacy runs the part about a table that exists: the seed's own.
func TestOutboxPageLegacy(t *testing.T) {
	t.Parallel()
	out := runPage(t, shellBlocks(t, "../docs/outbox.md", "beside"))
	wants(t, out, "rowrelay_claims and the table of failed events beside it are there", "mapped columns", "leader", "1 pending, 0 failed", `"id":"order-placed-43"`, "no event is pending")
}

// TestOutboxPagePostgresRabbitMQ runs the second quick start.
func TestOutboxPagePostgresRabbitMQ(t *testing.T) {
	t.Parallel()
	broker, _ := testenv.RabbitMQ(t)
	connection, err := amqp.Dial(broker)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close() //nolint:errcheck // the test's own
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	const queue = "order.events" // as the page says
	if _, err := channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	defer channel.QueueDelete(queue, false, false, false) //nolint:errcheck // the next run takes what is left
	if _, err := channel.QueuePurge(queue, false); err != nil {
		t.Fatal(err)
	}
	script := shellBlocks(t, "../docs/outbox.md", "postgres")
	for old, value := range map[string]string{"postgres://shop:secret@localhost/shop": testenv.Postgres(t), "amqp://shop:secret@localhost/": broker} {
		if !strings.Contains(script, old) {
			t.Fatalf("the page does not say %s", old)
		}
		script = strings.ReplaceAll(script, old, "'"+value+"'")
	}
	wants(t, runPage(t, script), "done: outbox and rowrelay_claims are there", "1 pending, 0 failed", `"rows":1`)
	deadline := time.Now().Add(time.Minute)
	for {
		m, ok, err := channel.Get(queue, true)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			if string(m.Body) != `{"order_id": 42}` || m.MessageId != "order-placed-42" || m.Headers["event_type"] != "OrderPlaced" {
				t.Errorf("%s %s %v", m.Body, m.MessageId, m.Headers)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no message came")
		}
		pause(t.Context())
	}
}
