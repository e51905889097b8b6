package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/telemetry"
)

// updateProduction writes docs/production.md: go test ./cmd/rowrelay -run TestProductionPage -update-production.
var updateProduction = flag.Bool("update-production", false, "write docs/production.md from the checklist")

// untold are the items that nobody can decide from here: a person has to look. The list is short on purpose.
var untold = []string{"idempotent", "alerts", "recovery", "runbook"}

// factsOf are facts of an app in which nothing is to mend, with settings changed or added: "name=value" below the poller orders where
// the name begins with source__, output__ or another of its own. No database is asked.
func factsOf(t *testing.T, settings ...string) (*facts, *pollerFacts) {
	t.Helper()
	env := map[string]string{
		"state__kind": "file", "state__path": "/var/lib/rowrelay", "state__app_name": "shop", "DB": "postgres://reader:x@db.example.com/shop",
		"pollers__orders__source__connection": "DB", "pollers__orders__source__table": "orders", "pollers__orders__output__url": "https://hooks.example.com/x",
		"pollers__orders__output__kind": "http", "pollers__orders__output__secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	}
	if !slices.Contains(settings, "pollers__orders__source__mode=outbox") {
		env["pollers__orders__source__cursor"] = "tx"
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if env[name] = value; value == "" {
			delete(env, name)
		}
	}
	c := &console{out: io.Discard, err: io.Discard}
	for name, value := range env {
		c.environ = append(c.environ, name+"="+value)
	}
	cfg, err := config.Load(c.environ)
	if err != nil {
		t.Fatal(err)
	}
	a := wire(c, cfg)
	t.Cleanup(func() { _ = a.Close() })
	w := a.pollers[0]
	if len(w.faults) > 0 {
		t.Fatal(w.faults)
	}
	f := &facts{c: c, app: a, host: &hostFile{FunctionTimeout: "00:05:00", path: "absent"}, state: stateLink(cfg), copies: copies{documents: 1}}
	f.exports, f.exportTold = telemetry.Exports(c.env)
	p := &pollerFacts{
		w: w, links: linksOf(w), queues: map[string]error{},
		view: &pollerView{
			Late:  &lateCheck{Mode: poller.LateExact, Why: "tx is an xid8", shown: true},
			Index: "orders_tx", Key: "primary key (id)", Incarnation: "1", Schedule: "*/10 * * * * *", gap: 10 * time.Second, fires: true,
		},
		rights: source.Rights{Told: true, Login: "reader", Autovacuum: true, Vacuums: "autovacuum_vacuum_scale_factor=0", RowVersions: true},
		cursor: []source.CursorColumn{{Name: "tx", Type: "xid8", Moved: "is an xid8"}},
	}
	if isOutbox(w.cfg) {
		p.about = &publisher.About{Strategy: publisher.Partitioned, Partitions: w.cfg.Source.Partitions, Layout: "own"}
	}
	f.pollers = []*pollerFacts{p}
	return f, p
}

// hosted makes a Function App of it.
func hosted(f *facts, p *pollerFacts) {
	f.hosted = true
	for _, fn := range functionsOf(p.w.cfg) {
		found := foundFunction{name: fn.name}
		if err := errors.Join(json.Unmarshal(fn.content, &found.want), json.Unmarshal(fn.content, &found.file)); err != nil {
			panic(err)
		}
		p.functions = append(p.functions, found)
	}
}

const outboxMode = "pollers__orders__source__mode=outbox"

// TestNoItemIsAYesMan: each item has facts by which it is to mend, beside those of an app in which nothing is; and the items that
// can never be decided are the pinned ones.
func TestNoItemIsAYesMan(t *testing.T) {
	type change = func(f *facts, p *pollerFacts)
	queue := []string{"Q=DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=eA==", "pollers__orders__dead_letter__kind=queue", "pollers__orders__dead_letter__connection=Q"}
	blob := func(account string) []string {
		return []string{"state__kind=blob", "AzureWebJobsStorage=DefaultEndpointsProtocol=https;AccountName=" + account + ";AccountKey=eA=="}
	}
	const account = "DefaultEndpointsProtocol=https;AccountName=host;AccountKey=eA=="
	fanout := []string{outboxMode, "Q=" + account, "pollers__orders__source__fanout_connection=Q", "pollers__orders__source__fanout_queue=parts"}
	principal := []string{
		"pollers__orders__output__url=", "pollers__orders__output__secret=", "pollers__orders__output__kind=servicebus", "pollers__orders__output__destination=orders",
		"pollers__orders__output__connection=SB", "SB__fullyQualifiedNamespace=shop.servicebus.windows.net", "SB__tenantId=t", "SB__clientId=c", "SB__clientSecret=s",
	}
	held := func(name string) change {
		return func(f *facts, _ *pollerFacts) { f.local = map[string]bool{name: true} }
	}
	seen := map[string]bool{}
	for _, c := range []struct {
		id       string
		settings []string
		change   change
		says     string // of what was seen, or of the mend
	}{
		{"settings", nil, func(f *facts, _ *pollerFacts) { f.faults = []string{"x: is wrong"} }, "x: is wrong"},
		{"app-name", []string{"state__app_name="}, nil, "local by default"},
		{"slots", []string{"WEBSITE_SLOT_NAME=staging"}, hosted, "orders"},
		{"always-ready", []string{"AzureWebJobs.orders.Disabled=1"}, hosted, "disabled"},
		{"functions", nil, func(f *facts, p *pollerFacts) { hosted(f, p); p.functions[0].err = os.ErrNotExist }, "rowrelay functions"},
		{"functions", nil, func(f *facts, p *pollerFacts) { hosted(f, p); p.functions[0].file.Retry = []byte("{}") }, "retry"},
		{"functions", nil, functionWith(`{"bindings":[{"type":"timerTrigger","runOnStartup":true}]}`), "runOnStartup"},
		{"functions", nil, functionWith(`{"bindings":[{"type":"timerTrigger","useMonitor":false}]}`), "useMonitor"},
		{"functions", nil, functionWith(`{"bindings":[]}`), "no timerTrigger"},
		{"functions", []string{outboxMode}, functionOf("orders_cleanup", `{"bindings":[{"type":"timerTrigger","schedule":"0 0 * * * *","runOnStartup":true}]}`), "orders_cleanup/function.json has runOnStartup"},
		{"functions", []string{outboxMode}, functionOf("orders_cleanup", `{"retry":{},"bindings":[{"type":"timerTrigger","schedule":"0 0 * * * *"}]}`), "retry"},
		{"functions", []string{outboxMode}, functionOf("orders_cleanup", `{"bindings":[{"type":"timerTrigger","schedule":"0 0 0 1 1 *"}]}`), "and the settings say"},
		{"functions", fanout, functionOf("orders_partition", `{"bindings":[]}`), "no queueTrigger"},
		{"functions", fanout, functionOf("orders_partition", `{"bindings":[{"type":"queueTrigger","queueName":"other","connection":"Q"}]}`), "reads the queue"},
		{"functions", nil, func(f *facts, p *pollerFacts) { hosted(f, p); p.leftovers = []string{"orders_cleanup/ is left over"} }, "left over"},
		{"log-level", []string{"log__level=debug"}, nil, "debug"},
		{"log-level", []string{"log__level=error"}, nil, "error"},
		{"log-level", nil, hostJSON(`{"logging":{"logLevel":{"default":"Warning"}}}`), "logLevel.default"},
		{"log-level", nil, hostJSON(`{"logging":{"logLevel":{"Default":"Warning"}}}`), "logLevel.default"},
		{"log-level", nil, hostJSON(`{"logging":{"logLevel":{"default":"Information","Function.orders":"Error"}}}`), "function.orders is Error"},
		{"log-level", nil, hostJSON(`{"logging":{"logLevel":{"default":"Information","Function.Orders.User":"None"}}}`), "function.orders.user is None"},
		{"log-level", nil, hostJSON(`{"logging":{"applicationInsights":{"logLevel":{"default":"Critical"}}}}`), "applicationInsights.logLevel.default is Critical"},
		{"log-level", []string{"AzureFunctionsJobHost__logging__logLevel__default=Warning"}, hostJSON(`{"logging":{"logLevel":{"default":"Information"}}}`), "is Warning"},
		{"state-store", []string{"state__kind=memory"}, nil, "memory"},
		{"state-store", []string{"state__path=state"}, nil, "working directory"},
		{"state-store", nil, hosted, "another instance"},
		{"state-store", []string{"state__kind=blob", "AzureWebJobsStorage=UseDevelopmentStorage=true"}, nil, "emulator"},
		{"state-reached", blob("shop"), func(f *facts, _ *pollerFacts) { f.listErr = errors.New("HTTP 404 ContainerNotFound") }, "ContainerNotFound"},
		{"state-account", append(blob("shop"), "state__container=azure-webjobs-hosts"), nil, "host's"},
		{"state-account", blob("shop"), hosted, "with a key"},
		{"state-copies", blob("shop"), func(f *facts, _ *pollerFacts) { f.copies.days = 7 }, "7 day"},
		{"state-copies", blob("shop"), func(f *facts, _ *pollerFacts) { f.copies.versions = true }, "versions"},
		{"start", []string{"pollers__orders__source__start=latest"}, nil, "latest"},
		{"budget", []string{"pollers__orders__tick_budget=5m"}, hosted, "not below"},
		{"budget", []string{"AzureFunctionsJobHost__functionTimeout=00:01:00"}, hostJSON(`{"functionTimeout":"00:10:00"}`), "functionTimeout 1m0s"},
		{"timeouts", []string{"pollers__orders__source__timeout=2m"}, nil, "2m"},
		{"timeouts", []string{"pollers__orders__output__timeout=50s"}, nil, "50s"},
		{"lease", []string{"pollers__orders__lease_ttl=10s"}, nil, "10s"},
		{"lease", []string{"pollers__orders__lease_ttl=30m"}, nil, "crash"},
		{"lease", []string{"pollers__orders__output__timeout=60s"}, nil, "one request"},
		{"lease", []string{outboxMode, "pollers__orders__source__claim_ttl=5s"}, nil, "source__claim_ttl"},
		{"schedule", nil, func(_ *facts, p *pollerFacts) { p.view.fires = false }, "never fires"},
		{"schedule", []string{"pollers__orders__poll_interval=1s"}, func(f *facts, p *pollerFacts) { hosted(f, p); p.view.gap = time.Minute }, "nobody looks"},
		{"lag", nil, func(_ *facts, p *pollerFacts) { p.view.gap = time.Hour }, "1h0m0s"},
		{"lag", nil, func(_ *facts, p *pollerFacts) { p.view.fires = false }, "no tick"},
		{"late-commits", nil, late(poller.LateNone, true, 0), "none"},
		{"late-commits", nil, late(poller.LateOverlap, false, 0), "not shown"},
		{"late-commits", nil, late(poller.LateOverlap, true, time.Hour), "late_window is 2m"},
		{"late-commits", nil, late(poller.LateSettle, true, time.Hour), "late_window is 2m"},
		{"index", nil, func(_ *facts, p *pollerFacts) { p.view.Index, p.view.CreateIndex = "", "CREATE INDEX x" }, "CREATE INDEX"},
		{"key", nil, func(_ *facts, p *pollerFacts) {
			p.view.Warnings = []string{"key column x may hold NULL, although it is in the primary key"}
		}, "NOT NULL"},
		{"cursor", nil, func(_ *facts, p *pollerFacts) { p.view.NullCursors = 3 }, "3 row"},
		{"cursor", nil, func(_ *facts, p *pollerFacts) { p.cursor[0].Nullable = true }, "may be NULL"},
		{"cursor", nil, func(_ *facts, p *pollerFacts) { p.cursor[0].Float = true }, "fractions"},
		{"cursor", nil, func(_ *facts, p *pollerFacts) { p.cursor[0].Step = 10 * time.Millisecond / 3 }, "3.333333ms only"},
		{"cursor-moves", nil, func(_ *facts, p *pollerFacts) {
			p.view.Warnings = []string{"new rows are seen: updates will not be seen"}
		}, "updates will not"},
		{"gaps", nil, func(_ *facts, p *pollerFacts) { p.view.Incarnation = "" }, "incarnation"},
		{"gaps", []string{"pollers__orders__source__on_failover=continue"}, nil, "asynchronous"},
		{"connections", []string{"pollers__orders__source__connections=1", "pollers__orders__outputs__b__kind=stdout"}, nil, "for 2 outputs"},
		{"source-tls", []string{"DB=postgres://u:p@db.example.com/shop?sslmode=require"}, nil, "sslmode is require"},
		{"source-tls", []string{"DB=mysql://u:p@db.example.com/shop?tls=false"}, nil, "not encrypted"},
		{"output-tls", []string{"pollers__orders__output__url=http://hooks.example.com/x"}, nil, "plain http"},
		{"output-tls", []string{"pollers__orders__output__kind=rabbitmq", "pollers__orders__output__connection=B", "B=amqp://u:p@b.example.com/"}, nil, "amqps"},
		{"output-tls", []string{"state__kind=blob", "AzureWebJobsStorage=DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=eA=="}, nil, "the state store"},
		{"login-rights", nil, func(_ *facts, p *pollerFacts) { p.rights.Admin = []string{"db_owner"} }, "db_owner"},
		{"read-only", nil, func(_ *facts, p *pollerFacts) { p.rights.Writes = []string{"DELETE"} }, "REVOKE DELETE on orders"},
		{"identities", blob("shop"), nil, "AzureWebJobsStorage"},
		{"identities", []string{"DB=Server=shop.database.windows.net;Database=shop;User ID=a;Password=b"}, nil, "DB"},
		{"output-tls", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://otel.example.com"}, nil, "telemetry: plain http"},
		{"output-tls", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://otel.example.com"}, nil, "the traces: plain http"},
		{"output-tls", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example.com", "OTEL_EXPORTER_OTLP_INSECURE=true"}, nil, "OTEL_EXPORTER_OTLP_INSECURE=true"},
		{"identities", principal, nil, "SB"},
		{"identities", []string{"AzureWebJobsStorage=" + account}, hosted, "AzureWebJobsStorage (the host's)"},
		{"secrets", nil, held("DB"), "local.settings.json holds DB"},
		{"secrets", nil, held("db"), "local.settings.json holds DB"},
		{"secrets", principal, held("SB__clientSecret"), "local.settings.json holds SB__clientSecret"},
		{"secrets", []string{"pollers__orders__output__headers__X_Api_Key=k"}, held("pollers__orders__output__headers__X_Api_Key"), "holds pollers__orders__output__headers__X_Api_Key"},
		{"secrets", []string{"pollers__orders__output__headers__X_Api_Key=%KEY%", "KEY=k"}, held("KEY"), "holds KEY"},
		{"secrets", []string{"status__token=a token of more than sixteen"}, held("status__token"), "holds status__token"},
		{"secrets", []string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=k"}, held("OTEL_EXPORTER_OTLP_HEADERS"), "holds OTEL_EXPORTER_OTLP_HEADERS"},
		{"secrets", []string{"AzureWebJobsStorage=" + account}, func(f *facts, p *pollerFacts) { hosted(f, p); held("AzureWebJobsStorage")(f, p) }, "holds AzureWebJobsStorage"},
		{"signature", []string{"pollers__orders__output__secret="}, nil, "no output__secret"},
		{"signature", []string{"pollers__orders__output__url=https://hooks.example.com/x?code=1"}, nil, "code="},
		{"queues", queue, func(_ *facts, p *pollerFacts) { p.queues["dead of Q"] = errors.New("HTTP 404 QueueNotFound") }, "QueueNotFound"},
		{"attempts", []string{"pollers__orders__max_attempts=1"}, nil, "1 attempt"},
		{"attempts", []string{"pollers__orders__retry_delays=1s"}, nil, "over 4s"},
		{"held", nil, func(_ *facts, p *pollerFacts) { p.letters = 2 }, "2 dead letter"},
		{"held", queue, func(_ *facts, p *pollerFacts) { n := int64(6); p.waiting = &n }, "6 dead letter"},
		{"held", nil, func(_ *facts, p *pollerFacts) { p.view.Outputs = []checkedOutput{{Parked: 4, Paused: "by x"}} }, "4 parked"},
		{"held", []string{outboxMode}, func(_ *facts, p *pollerFacts) { p.about.Figures.Dead = 5 }, "5 dead letter"},
		{"ordering", []string{"pollers__orders__ordering=none"}, nil, "ordering=none"},
		{"outbox-strategy", []string{outboxMode}, func(_ *facts, p *pollerFacts) { p.about.Partitions++ }, "in force"},
		{"outbox-snapshot", []string{outboxMode, "DB=Server=db.example.com;Database=shop;User ID=a;Password=b"}, func(_ *facts, p *pollerFacts) { p.rights.RowVersions = false }, "OFF"},
		{"outbox-cleanup", []string{outboxMode, "pollers__orders__source__cleanup_schedule=none"}, nil, "none"},
		{"outbox-cleanup", []string{outboxMode}, func(f *facts, p *pollerFacts) { hosted(f, p); p.cleanupErr = os.ErrNotExist }, "orders_cleanup"},
		{"outbox-vacuum", []string{outboxMode}, func(_ *facts, p *pollerFacts) { p.rights.Autovacuum = false }, "off for the table"},
		{"outbox-vacuum", []string{outboxMode}, func(_ *facts, p *pollerFacts) { p.rights.Vacuums = "" }, "scale factor"},
		{"metrics", []string{"OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_ENDPOINT=https://x"}, nil, "switch the metrics off"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://otel.example.com"}, nil, "plain http"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example.com", "OTEL_EXPORTER_OTLP_INSECURE=true"}, nil, "in the clear"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://otel.example.com"}, nil, "in the clear"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example.com", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, nil, "not exported"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example.com", "OTEL_METRICS_EXPORTER=prometheus"}, nil, "not exported"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=otel.example.com:4318"}, nil, "not exported"},
		{"status-page", nil, httpFunction("statusactions", "function"), "authLevel is not admin in statusactions/function.json"},
		{"status-page", []string{"status__token=short"}, nil, "5 characters"},
		{"status-page", nil, httpFunction("open", "anonymous"), "anonymous in open/function.json"},
	} {
		f, p := factsOf(t, c.settings...)
		if c.change != nil {
			c.change(f, p)
		}
		at := slices.IndexFunc(checklist(), func(i item) bool { return i.id == c.id })
		if at < 0 {
			t.Fatalf("no item %s", c.id)
		}
		seen[c.id] = true
		got := judgeAll(f, nil).Items[at].Answers[0]
		if got.Verdict != toMend || !strings.Contains(got.Seen+" → "+got.Mend, c.says) || got.Mend == "" {
			t.Errorf("%s with %q is %s: %s → %s; want %q", c.id, c.settings, got.Verdict, got.Seen, got.Mend, c.says)
		}
	}
	var never []string
	for _, i := range checklist() {
		if i.untold {
			never = append(never, i.id)
		}
		if seen[i.id] == i.untold {
			t.Errorf("%s: no facts here make it to mend", i.id)
		}
	}
	if !slices.Equal(never, untold) {
		t.Errorf("the items that cannot be told are %q, want %q", never, untold)
	}
	for _, settings := range [][]string{nil, {outboxMode}, {"state__kind=blob", "state__connection=S", "S__blobServiceUri=https://shop.blob.core.windows.net"}} {
		f, _ := factsOf(t, settings...)
		for _, i := range judgeAll(f, nil).Items {
			for _, a := range i.Answers {
				if a.Verdict == toMend || slices.Contains(untold, i.ID) != (a.Verdict == cannotTell && slices.Contains(untold, i.ID)) {
					t.Errorf("%q: %s is %s: %s", settings, i.ID, a.Verdict, a.Seen)
				}
			}
		}
	}
}

// functionWith makes a Function App whose poller has this function.json, functionOf one of a poller's functions.
func functionWith(text string) func(*facts, *pollerFacts) { return functionOf("orders", text) }

func functionOf(name, text string) func(*facts, *pollerFacts) {
	return func(f *facts, p *pollerFacts) {
		hosted(f, p)
		at := slices.IndexFunc(p.functions, func(fn foundFunction) bool { return fn.name == name })
		var file functionFile
		if err := json.Unmarshal([]byte(text), &file); err != nil {
			panic(err)
		}
		p.functions[at].file = file
	}
}

func hostJSON(text string) func(*facts, *pollerFacts) {
	return func(f *facts, p *pollerFacts) {
		hosted(f, p)
		root := tempRoot(map[string]string{"host.json": text})
		defer os.RemoveAll(root) //nolint:errcheck // a temporary folder
		*f.host = readHost(root, f.c.environ)
	}
}

// tempRoot is a Function App's folder with files.
func tempRoot(files map[string]string) string {
	root, err := os.MkdirTemp("", "rr-host-*")
	if err != nil {
		panic(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			panic(err)
		}
	}
	return root
}

// httpFunction makes a Function App with one function of HTTP.
func httpFunction(name, level string) func(*facts, *pollerFacts) {
	return func(f *facts, p *pollerFacts) {
		hosted(f, p)
		root := tempRoot(map[string]string{name + "/function.json": `{"bindings":[{"type":"httpTrigger","authLevel":"` + level + `"}]}`})
		f.c.environ = append(f.c.environ, "FUNCTIONS_APP_ROOT_PATH="+root)
	}
}

func late(mode poller.LateCommits, shown bool, age time.Duration) func(*facts, *pollerFacts) {
	return func(_ *facts, p *pollerFacts) {
		p.view.Late = &lateCheck{Mode: mode, shown: shown, age: age, Missed: "rows", Mend: "GRANT pg_read_all_stats", Held: "a transaction is open"}
	}
}

// TestItemsThatAreOK: what is in order is said to be, and is not only not to mend.
func TestItemsThatAreOK(t *testing.T) {
	queued := []string{"Q=DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=eA==", "pollers__orders__dead_letter__kind=queue", "pollers__orders__dead_letter__connection=Q"}
	for _, c := range []struct {
		id       string
		settings []string
		change   func(f *facts, p *pollerFacts)
		want     verdict
	}{
		{"slots", []string{"WEBSITE_SLOT_NAME=Production"}, hosted, cannotTell},                                           // the others are not seen
		{"slots", []string{outboxMode, "WEBSITE_SLOT_NAME=staging", "AzureWebJobs.orders.Disabled=true"}, hosted, toMend}, // its clean-up runs
		{"always-ready", []string{"WEBSITE_SLOT_NAME=Production", "AzureWebJobs.orders.Disabled=true"}, hosted, toMend},
		{"functions", []string{outboxMode}, hosted, isOK},
		{"log-level", []string{"AzureFunctionsJobHost__logging__logLevel__default=Information"}, hostJSON(`{"logging":{"logLevel":{"default":"Warning"}}}`), isOK},
		{"budget", []string{"AzureFunctionsJobHost__functionTimeout=00:10:00"}, hostJSON(`{"functionTimeout":"00:01:00"}`), isOK},
		{"slots", []string{"WEBSITE_SLOT_NAME=staging", "AzureWebJobs.orders.Disabled=true"}, hosted, isOK},
		{"slots", nil, nil, noMatter},
		{"late-commits", nil, late(poller.LateOverlap, true, time.Second), isOK},
		{"late-commits", nil, func(_ *facts, p *pollerFacts) { p.view.Late = nil }, cannotTell},
		{"schedule", []string{"pollers__orders__poll_interval=1s"}, hosted, isOK},
		{"gaps", []string{"pollers__orders__source__on_failover=continue"}, func(_ *facts, p *pollerFacts) { p.rights.Standbys = "ANY 1 (a, b)" }, isOK},
		{"identities", []string{"DB=", "DB__server=shop.database.windows.net", "DB__database=shop", "DB__credential=managedidentity"}, nil, isOK},
		{"identities", nil, nil, noMatter},
		{"login-rights", []string{"DB=mysql://u:p@db.example.com/shop"}, func(_ *facts, p *pollerFacts) { p.rights.Roles = []string{"r"} }, cannotTell},
		{"login-rights", nil, func(_ *facts, p *pollerFacts) { p.rights, p.rightsErr = source.Rights{}, errors.New("denied") }, cannotTell},
		{"state-copies", []string{"state__kind=blob", "AzureWebJobsStorage__accountName=shop"}, func(f *facts, _ *pollerFacts) { f.copies.err = errors.New("HTTP 403") }, cannotTell},
		{"state-copies", []string{"state__kind=blob", "AzureWebJobsStorage__accountName=shop"}, func(f *facts, _ *pollerFacts) { f.copies.documents = 0 }, cannotTell},
		{"state-account", []string{"state__kind=blob", "AzureWebJobsStorage__accountName=shop"}, hosted, cannotTell},
		{"signature", []string{"pollers__orders__output__secret=", "pollers__orders__output__headers__x_functions_key=k"}, nil, isOK},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"}, nil, isOK},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"}, hosted, cannotTell},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://otel.example.com", "OTEL_EXPORTER_OTLP_INSECURE=false"}, nil, isOK},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://otel.example.com"}, nil, cannotTell},
		{"queues", queued, func(_ *facts, p *pollerFacts) {
			p.queues["dead of Q"] = &httpError{403, "AuthorizationPermissionMismatch"}
		}, cannotTell},
		{"held", queued, func(_ *facts, p *pollerFacts) { p.waitErr = &httpError{403, "AuthorizationPermissionMismatch"} }, cannotTell},
		{"secrets", []string{"DB=sqlite:shop.db", "pollers__orders__output__secret=", "status__token=a token of more than sixteen"}, nil, cannotTell},
		{"secrets", nil, nil, cannotTell},
		{"secrets", []string{"DB=sqlite:shop.db", "pollers__orders__output__secret="}, nil, isOK},
		{"outbox-vacuum", nil, nil, noMatter},
		{"outbox-vacuum", []string{outboxMode}, nil, isOK},
		{"outbox-cleanup", []string{outboxMode}, nil, isOK},
		{"read-only", []string{outboxMode}, nil, noMatter},
	} {
		f, p := factsOf(t, c.settings...)
		if c.change != nil {
			c.change(f, p)
		}
		for _, i := range judgeAll(f, nil).Items {
			if i.ID == c.id && i.Answers[0].Verdict != c.want {
				t.Errorf("%s with %q is %s (%s), want %s", c.id, c.settings, i.Answers[0].Verdict, i.Answers[0].Seen, c.want)
			}
		}
	}
}

// TestLagRingsWithTheAlert: the item says to mend what the alert would ring for.
func TestLagRingsWithTheAlert(t *testing.T) {
	text, err := os.ReadFile("../../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`rowrelay_lag_seconds\) > (\d+)\n`).FindSubmatch(text)
	if m == nil || string(m[1]) != "300" || longestGap != 300*time.Second {
		t.Errorf("deploy/alerts.yaml has %q, and the item %s", m, longestGap)
	}
}

// TestProductionPage: docs/production.md is the checklist, and what check --production wrote in e2e.
func TestProductionPage(t *testing.T) {
	outputs := map[string]string{}
	for _, name := range []string{"good", "bad"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "e2e", "testdata", "production", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		outputs[name] = string(text)
	}
	var page bytes.Buffer
	if err := writeProductionPage(&page, outputs["good"], outputs["bad"]); err != nil {
		t.Fatal(err)
	}
	const path = "../../docs/production.md"
	if *updateProduction {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.String(), string(got)); diff != "" {
		t.Errorf("docs/production.md (-checklist +page), write it with -update-production:\n%s", diff)
	}
	// The command's ids, in their order, are the page's headings.
	var ids, headings []string
	for _, i := range checklist() {
		ids = append(ids, i.id)
	}
	for _, m := range regexp.MustCompile("(?m)^### `([a-z-]+)`").FindAllStringSubmatch(string(got), -1) {
		headings = append(headings, m[1])
	}
	if !slices.Equal(ids, headings) || len(ids) != len(slices.Compact(slices.Sorted(slices.Values(ids)))) {
		t.Errorf("the command has %q\nthe page %q", ids, headings)
	}
	for _, output := range outputs {
		at := 0
		for _, line := range strings.Split(output, "\n") {
			for n, id := range ids {
				if strings.HasPrefix(line, "  ") && len(line) > 12 && strings.HasPrefix(line[12:], id+" ") {
					if n < at {
						t.Errorf("%s stands behind %s", id, ids[at])
					}
					at = n
				}
			}
		}
		if at != len(ids)-1 {
			t.Errorf("an output ends with %s", ids[at])
		}
	}
}
