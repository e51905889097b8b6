package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// runShell runs DDL by the shell that the engine's people use.
func runShell(t *testing.T, o *outboxShop, ddl string) {
	t.Helper()
	var cmd *exec.Cmd
	switch source := o.settings["SHOP_DB"]; o.engine {
	case "postgres":
		cmd = exec.CommandContext(t.Context(), "psql", "-v", "ON_ERROR_STOP=1", "-q", source)
	case "mysql":
		u, err := url.Parse(source)
		if err != nil {
			t.Fatal("the URL of MySQL cannot be read")
		}
		cmd = exec.CommandContext(t.Context(), "mysql", "--protocol=tcp", "-h", u.Hostname(), "-P", u.Port(), "-u",
			u.User.Username(), strings.TrimPrefix(u.Path, "/"))
		password, _ := u.User.Password()
		cmd.Env = append(os.Environ(), "MYSQL_PWD="+password)
	default:
		cmd = exec.CommandContext(t.Context(), "sqlite3", "-bail", strings.TrimPrefix(source, "sqlite:"))
	}
	cmd.Stdin = strings.NewReader(ddl)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", cmd.Path, err, out, ddl)
	}
}

// TestOutboxUnderTheHost: the timer function publishes, and the clean-up function cleans up; each answers and says so.
func TestOutboxUnderTheHost(t *testing.T) {
	t.Parallel()
	on(t, "postgres", func(t *testing.T, engine string) {
		to := newSink(t)
		o := newOutboxShop(t, engine, to.URL)
		o.settings = o.settings.with(settings{"pollers__events__poll_interval": "0s",
			"pollers__events__source__retention": "1h"})
		root := functionApp(t, o.settings)
		o.write(10, 5)
		host := startHost(t, root, o.settings)
		for name, err := range host.Functions() {
			if err != nil {
				t.Errorf("the host refuses %s: %v", name, err)
			}
		}
		must(t, host, "events")
		o.arrived(to)
		must(t, host, "events") // idle
		o.age()
		must(t, host, "events_cleanup")
		if n := o.count(); n != 0 {
			t.Errorf("%d events are left", n)
		}
		until(t, "the clean-up to be said", func() bool {
			return strings.Contains(transcript(host), `"rows":50`) &&
				strings.Contains(transcript(host), `"event":"cleanup_complete"`)
		})
	})
}

// fanoutApp is an outbox with fan-out under the host, with a host.json as docs/outbox.md shows it.
func fanoutApp(t *testing.T, o *outboxShop) (root, queue string) {
	t.Helper()
	queue = unique("parts")
	o.settings = o.settings.with(settings{
		// A message lives as long as the timer's period, and the emulator has needed more than ten seconds for some.
		"EVENTS_SCHEDULE":     "0 * * * * *",
		"AzureWebJobsStorage": testenv.Azurite(t), "pollers__events__source__fanout_connection": "AzureWebJobsStorage",
		"pollers__events__source__fanout_queue": queue, "pollers__events__poll_interval": "0s",
		"pollers__events__source__partitions": "8",
	})
	root = functionApp(t, o.settings)
	text, err := os.ReadFile(filepath.Join(root, "host.json"))
	if err != nil {
		t.Fatal(err)
	}
	var host map[string]any
	if err := json.Unmarshal(text, &host); err != nil {
		t.Fatal(err)
	}
	host["extensionBundle"] = map[string]any{"id": "Microsoft.Azure.Functions.ExtensionBundle", "version": "[4.*, 5.0.0)"}
	host["extensions"] = map[string]any{"queues": map[string]any{"maxDequeueCount": 1, "maxPollingInterval": "00:00:02"}}
	if text, err = json.Marshal(host); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "host.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return root, queue
}

// take returns the messages of the queue as a queue trigger decodes them, and removes them.
func takeMessages(t *testing.T, connection, name string) (list []string) {
	t.Helper()
	client, err := azqueue.NewQueueClientFromConnectionString(connection, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for most := int32(32); ; {
		page, err := client.DequeueMessages(t.Context(), &azqueue.DequeueMessagesOptions{NumberOfMessages: &most})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Messages) == 0 {
			return list
		}
		for _, m := range page.Messages {
			text, err := base64.StdEncoding.DecodeString(*m.MessageText)
			if err != nil {
				t.Fatalf("a queue trigger expects base64: %v", err)
			}
			if life := m.ExpirationTime.Sub(*m.InsertionTime); life != time.Minute {
				t.Errorf("a message lives %s, want the timer's period, 1m", life)
			}
			list = append(list, string(text))
			if _, err := client.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestOutboxFanOut: the timer only hands partitions out; two instances run them, each once and in order; what no
// message named comes with the next timer.
func TestOutboxFanOut(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	o := newOutboxShop(t, "postgres", to.URL)
	root, queue := fanoutApp(t, o)
	if code, p := checkJSON(t, root, withSchedules(o.settings), "events"); code != 0 {
		t.Errorf("check of a good app: %q", p.Faults)
	}
	o.write(40, 5)
	first, second := startHost(t, root, o.settings), startHost(t, root, o.settings)
	must(t, first, "events")
	if n, _ := to.count(); n != 0 {
		t.Fatalf("the timer itself published %d events", n)
	}
	messages := takeMessages(t, o.settings["AzureWebJobsStorage"], queue)
	if len(messages) != 8 {
		t.Fatalf("40 aggregates lie in 8 partitions, and the messages are %q", messages)
	}
	partitions := map[int]bool{}
	for _, m := range messages {
		var v struct {
			Poller        string
			Partition, Of int
		}
		if err := json.Unmarshal([]byte(m), &v); err != nil || v.Poller != "events" || v.Of != 8 || v.Partition < 0 ||
			v.Partition > 7 {
			t.Fatalf("%v: %s", err, m)
		}
		partitions[v.Partition] = true
	}
	if len(partitions) != 8 {
		t.Errorf("partitions %v", partitions)
	}
	lost := messages[7] // its time is over before anybody reads it
	done := make(chan fakehost.Result)
	for i, m := range append(messages[:7:7], messages[0]) { // and one comes twice
		host := first
		if i%2 == 1 {
			host = second
		}
		go func() { done <- host.InvokeWith(t.Context(), "events_partition", fakehost.Invocation{Message: m}) }()
	}
	for range 8 {
		if r := <-done; !r.Succeeded {
			t.Errorf("%+v\n%s%s", r, transcript(first), transcript(second))
		}
	}
	if n, _ := to.count(); n == 0 || n == o.total() {
		t.Errorf("%d of %d events, and one partition was left out", n, o.total())
	}
	must(t, second, "events")
	if again := takeMessages(t, o.settings["AzureWebJobsStorage"], queue); len(again) != 1 || again[0] != lost {
		t.Errorf("the next timer hands out %q, want %q", again, lost)
	}
	if r := first.InvokeWith(t.Context(), "events_partition", fakehost.Invocation{Message: lost}); !r.Succeeded {
		t.Errorf("%+v", r)
	}
	o.arrived(to)
	if _, repeated := to.count(); repeated != 0 {
		t.Errorf("%d events came twice", repeated)
	}
	must(t, second, "events")
	if idle := takeMessages(t, o.settings["AzureWebJobsStorage"], queue); len(idle) != 0 {
		t.Errorf("an idle timer hands out %q", idle)
	}
}

// TestOutboxFanOutDropsStrangeMessages: they do not fail, which would fill the poison queue, and do not run anything.
func TestOutboxFanOutDropsStrangeMessages(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	o := newOutboxShop(t, "sqlite", to.URL)
	root, _ := fanoutApp(t, o)
	o.write(3, 1)
	host := startHost(t, root, o.settings)
	for _, message := range []string{"", "hello", `{"poller":"events","partition":5000,"of":64}`,
		`{"poller":"other","partition":0,"of":64}`} {
		if r := host.InvokeWith(t.Context(), "events_partition", fakehost.Invocation{Message: message}); !r.Succeeded {
			t.Errorf("%q: %+v", message, r)
		}
	}
	if n, _ := to.count(); n != 0 {
		t.Errorf("%d events were published", n)
	}
	until(t, "the warnings", func() bool { return strings.Count(transcript(host), "message_dropped") == 4 })
}

// TestFunctionsOfAnOutbox: what `rowrelay functions` writes, and says of host.json.
func TestFunctionsOfAnOutbox(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	o.settings = o.settings.with(settings{"AzureWebJobsStorage": "UseDevelopmentStorage=true",
		"pollers__events__source__fanout_connection": "AzureWebJobsStorage",
		"pollers__events__source__fanout_queue":      "parts-of-events",
		"pollers__events__source__cleanup_schedule":  "0 30 3 * * *"})
	if err := os.WriteFile(filepath.Join(o.dir, "host.json"),
		[]byte(`{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, o.say("functions"), "events/function.json written",
		"events_cleanup/function.json written; its schedule is 0 30 3 * * *",
		"events_partition/function.json written; it reads the queue parts-of-events of AzureWebJobsStorage",
		"extensionBundle", "maxDequeueCount")
	for file, parts := range map[string][]string{
		"events": {"timerTrigger", "%EVENTS_SCHEDULE%"}, "events_cleanup": {"timerTrigger", "0 30 3 * * *"},
		"events_partition": {"queueTrigger", "parts-of-events", "AzureWebJobsStorage"},
	} {
		text, err := os.ReadFile(filepath.Join(o.dir, file, "function.json"))
		if err != nil {
			t.Fatal(err)
		}
		wants(t, string(text), parts...)
	}
	wants(t, o.say("functions"), fmt.Sprintf("%s exists, left alone", filepath.Join("events_partition", "function.json")))
	if code, p := checkJSON(t, o.dir, withSchedules(o.settings), "events"); code != 1 ||
		!strings.Contains(strings.Join(p.Faults, "\n"), "an extensionBundle") {
		t.Errorf("check: %d %q", code, p.Faults)
	}
}

// TestOutboxDeadLetterQueue: with dead_letter__kind=queue a dead letter is the row and a message, and the host sees an
// Error.
func TestOutboxDeadLetterQueue(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	to.decide(func(w http.ResponseWriter, events []cloudEvent) bool {
		if slices.ContainsFunc(events, func(e cloudEvent) bool { return e.ID == "a1-0" }) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return false
		}
		return true
	})
	o := newOutboxShop(t, "sqlite", to.URL)
	queue := unique("dead")
	o.settings = o.settings.with(settings{
		"AzureWebJobsStorage": testenv.Azurite(t), "pollers__events__dead_letter__kind": "queue",
		"pollers__events__dead_letter__connection": "AzureWebJobsStorage",
		"pollers__events__dead_letter__queue":      queue, "pollers__events__poll_interval": "0s", "state__create": "true",
	})
	host := startHost(t, functionApp(t, o.settings), o.settings)
	o.write(2, 2)
	until(t, "the dead letter", func() bool {
		o.write(1, 1) // of another aggregate: the destination accepts others
		host.Invoke(t.Context(), "events")
		return o.status().Dead == 1
	})
	client, err := azqueue.NewQueueClientFromConnectionString(o.settings["AzureWebJobsStorage"], queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := client.DequeueMessage(t.Context(), nil)
	if err != nil || len(page.Messages) != 1 {
		t.Fatalf("%v: %d messages", err, len(page.Messages))
	}
	text, err := base64.StdEncoding.DecodeString(*page.Messages[0].MessageText)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(text), `"a1-0"`, "422", "a1")
	until(t, "the host to see an error", func() bool {
		return slices.ContainsFunc(host.Logs(), func(l fakehost.Line) bool {
			return l.Level == fakehost.Error && strings.Contains(l.Text, `"event":"dead_lettered"`) &&
				requeueByID.MatchString(l.Text)
		})
	})
}
