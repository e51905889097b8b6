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

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// shellBlocks returns the blocks of a page that a shell runs, in their order, that have one of the tags: "sh" alone has
// "".
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
	if err := os.Link(programtest.Path(t), filepath.Join(bin, "rowrelay")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir} // nothing that the page does not say
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// onPage is what the commands print that work on the quick start's database.
var onPage = []string{"1 pending, 0 delayed, 0 failed", `"id":"order-placed-42"`, `{"order_id": 42}`,
	"no event is pending", "paused", "resumed", "events_cleanup/function.json written",
	"events_partition/function.json written", "0 event(s) were deleted"}

// legacy is what those print that work on the seed's own table.
var legacy = []string{"rowrelay_claims and the table of failed events beside it are there", "mapped columns", "leader",
	`"id":"order-placed-43"`}

// TestOutboxPage runs the commands of docs/outbox.md in the page's order, in one shell, as a reader does who has
// nothing but SQLite.
func TestOutboxPage(t *testing.T) {
	t.Parallel()
	out := runPage(t, shellBlocks(t, "../docs/outbox.md", "setup", "", "timed", "fanout", "beside"))
	wants(t, out, append(onPage, legacy...)...)
	wants(t, out, "DELAYED", "DISCARDED", "expired", "2 event(s)", "reminder-42", "done: 1")
}

// TestOutboxPageLegacy runs the part about a table that exists by itself: the seed's own.
func TestOutboxPageLegacy(t *testing.T) {
	t.Parallel()
	out := runPage(t, shellBlocks(t, "../docs/outbox.md", "beside"))
	wants(t, out, "rowrelay_claims and the table of failed events beside it are there", "mapped columns", "leader",
		"1 pending, 0 delayed, 0 failed", `"id":"order-placed-43"`, "no event is pending")
}

// TestOutboxPagePostgresRabbitMQ runs the whole page in one shell, the second quick start included, which has to create
// its queue. It is not parallel: the queue has the name that the page gives it.
func TestOutboxPagePostgresRabbitMQ(t *testing.T) {
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
	const queue = "order.events"                                               // as the page says
	if _, err := channel.QueueDelete(queue, false, false, false); err != nil { // one that is not there is no error
		t.Fatal(err)
	}
	defer channel.QueueDelete(queue, false, false, false) //nolint:errcheck // the next run takes what is left
	script := shellBlocks(t, "../docs/outbox.md", "setup", "", "postgres", "fanout", "beside")
	for old, value := range map[string]string{"postgres://shop:secret@localhost/shop": testenv.Postgres(t),
		"amqp://shop:secret@localhost/": broker} {
		if !strings.Contains(script, old) {
			t.Fatalf("the page does not say %s", old)
		}
		script = strings.ReplaceAll(script, old, "'"+value+"'")
	}
	wants(t, runPage(t, script), append(append([]string{"done: outbox and rowrelay_claims are there", `"rows":1`},
		onPage...), legacy...)...)
	deadline := time.Now().Add(time.Minute)
	for {
		m, ok, err := channel.Get(queue, true)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			if string(m.Body) != `{"order_id": 42}` || m.MessageId != "order-placed-42" ||
				m.Headers["event_type"] != "OrderPlaced" {
				t.Errorf("%s %s %v", m.Body, m.MessageId, m.Headers)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no message came")
		}
		programtest.Pause(t.Context())
	}
}
