package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/publisher/mapping"
)

// outboxOf is the smallest configuration of an outbox that sends to a broker.
func outboxOf(more ...string) []string {
	return slices.Concat(with("pollers__orders__source__mode=outbox", "pollers__orders__source__cursor=",
		"pollers__orders__output__kind=rabbitmq"),
		[]string{"pollers__orders__output__connection=RABBIT", "RABBIT=amqp://guest:guest@localhost/"}, more)
}

var sameLocation = cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })

func TestOutboxDefaults(t *testing.T) {
	app, err := Load(outboxOf())
	if err != nil || len(app.AllWarnings()) > 0 {
		t.Fatal(err, app.AllWarnings())
	}
	want := &Poller{
		Name: "orders",
		Source: Source{
			ConnectionSetting: "ORDERS_DB", Connection: Database{Setting: "ORDERS_DB", ConnectionString: "sqlite:shop.db"},
			Mode: "outbox", Table: "orders", Location: time.UTC, Timeout: 30 * time.Second, Connections: 4,
			Partitions: 64, ClaimTTL: 30 * time.Second, ClaimsTable: "rowrelay_claims",
			CleanupSchedule: "0 0 * * * *", Retention: 168 * time.Hour, CleanupChunk: 10000,
		},
		Outputs: []Output{{Kind: "rabbitmq", Timeout: 30 * time.Second, ConnectionSetting: "RABBIT",
			Broker:      Broker{Setting: "RABBIT", ConnectionString: "amqp://guest:guest@localhost/"},
			Destination: "{aggregate_type}.events", DestinationCase: "lower",
			Format: "payload", Batch: 100, BatchBytes: 1 << 20, MaxMessageBytes: 1_000_000,
			Retries: 3, RejectStatus: []int{400, 413, 422}}},
		Schedule: "*/1 * * * * *", BatchSize: 500, BatchBytes: 8 << 20, MaxRowBytes: 4 << 20, TickBudget: 50 * time.Second,
		PollInterval: 100 * time.Millisecond, PollIntervalMax: time.Second, Ordering: "key", Concurrency: 8,
		MaxAttempts: 5, RetryDelays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute},
		AfterDeadLetter: "block", DeadLetter: DeadLetter{Kind: "state"},
	}
	if diff := cmp.Diff(want, app.Poller("orders"), cmpopts.IgnoreUnexported(Poller{}), sameLocation, bare); diff != "" {
		t.Error(diff)
	}
}

func TestOutboxEverySetting(t *testing.T) {
	app, err := Load(outboxOf(
		"pollers__orders__source__map__ID=MessageId", "pollers__orders__source__map__payload=Body",
		"pollers__orders__source__map__on_published=delete",
		"pollers__orders__source__strategy=PARTITIONED", "pollers__orders__source__partitions=1024",
		"pollers__orders__source__claim_ttl=3s",
		"pollers__orders__source__claims_table=relay.claims", "pollers__orders__source__cleanup_schedule=NONE",
		"pollers__orders__source__retention=1h",
		"pollers__orders__source__cleanup_chunk=10", "pollers__orders__source__fanout_connection=Q",
		"Q=UseDevelopmentStorage=true",
		"pollers__orders__source__fanout_queue=work", "pollers__orders__poll_interval=10ms",
		"pollers__orders__poll_interval_max=20ms",
		"pollers__orders__after_dead_letter=release", "pollers__orders__output__destination=orders/{event_type}",
		"pollers__orders__output__destinations__Order.Placed=a", "pollers__orders__output__DESTINATIONS__paid=b",
		"pollers__orders__output__format=cloudevents",
	))
	if err != nil {
		t.Fatal(err)
	}
	p := app.Poller("orders")
	want := Source{
		ConnectionSetting: "ORDERS_DB", Connection: Database{Setting: "ORDERS_DB", ConnectionString: "sqlite:shop.db"},
		Mode: "outbox", Table: "orders", Location: time.UTC, Timeout: 30 * time.Second, Connections: 4,
		Map: map[string]string{"id": "MessageId", "payload": "Body", "on_published": "delete"}, Strategy: "partitioned",
		Partitions: 1024,
		ClaimTTL:   3 * time.Second, ClaimsTable: "relay.claims", Retention: time.Hour, CleanupChunk: 10,
		FanoutSetting: "Q", Fanout: Storage{Setting: "Q", ConnectionString: developmentStorage(""), Development: true},
		FanoutQueue: "work",
	}
	if diff := cmp.Diff(want, p.Source, sameLocation, bare); diff != "" {
		t.Error(diff)
	}
	if p.PollInterval != 10*time.Millisecond || p.PollIntervalMax != 20*time.Millisecond ||
		p.AfterDeadLetter != "release" {
		t.Errorf("%v %v %s", p.PollInterval, p.PollIntervalMax, p.AfterDeadLetter)
	}
	out := &p.Outputs[0]
	if diff := cmp.Diff(map[string]string{"order.placed": "a", "paid": "b"}, out.Destinations); diff != "" ||
		out.Destination != "orders/{event_type}" || out.Format != "cloudevents" {
		t.Errorf("%q %q %s", out.Destination, out.Format, diff)
	}
}

// What differs by mode and by kind of output, where nothing was said.
func TestDefaultsByModeAndKind(t *testing.T) {
	broker := map[string]string{
		"rabbitmq": "RABBIT=amqp://h/", "kafka": "RABBIT=kafka://h:9092",
		"eventhubs":  "RABBIT__fullyQualifiedNamespace=h.servicebus.windows.net",
		"servicebus": "RABBIT__fullyQualifiedNamespace=h.servicebus.windows.net", "stdout": "RABBIT=",
		"queue": "RABBIT=UseDevelopmentStorage=true",
	}
	for kind, connection := range broker {
		for mode, cursor := range map[string]string{"cursor": "id", "outbox": ""} {
			app, err := Load(with("pollers__orders__source__mode="+mode, "pollers__orders__source__cursor="+cursor,
				"pollers__orders__output__kind="+kind,
				"pollers__orders__output__connection=RABBIT", connection))
			if err != nil {
				t.Errorf("%s to %s: %v", mode, kind, err)
				continue
			}
			format, destination := "cloudevents", ""
			if kind != "stdout" && kind != "queue" {
				destination = "{poller}"
				if mode == "outbox" {
					format, destination = "payload", "{aggregate_type}.events"
				}
			}
			p := app.Poller("orders")
			if out := p.Outputs[0]; out.Format != format || out.Destination != destination {
				t.Errorf("%s to %s: %s, %q", mode, kind, out.Format, out.Destination)
			}
			wantPoll, wantBlock := time.Duration(0), "release"
			if mode == "outbox" {
				wantPoll, wantBlock = 100*time.Millisecond, "block"
			}
			if p.PollInterval != wantPoll || p.AfterDeadLetter != wantBlock {
				t.Errorf("%s: %v, %s", mode, p.PollInterval, p.AfterDeadLetter)
			}
		}
	}
}

// In an outbox without an order to keep, nothing waits for a dead letter.
func TestOutboxWithoutOrderReleases(t *testing.T) {
	for _, more := range [][]string{{"pollers__orders__ordering=none"},
		{"pollers__orders__ordering=source", "pollers__orders__source__strategy=leader"}} {
		app, err := Load(outboxOf(more...))
		if err != nil || app.Poller("orders").AfterDeadLetter != "release" {
			t.Errorf("%q: %v, %s", more, err, app.Poller("orders").AfterDeadLetter)
		}
	}
}

func TestBrokerConnections(t *testing.T) {
	const namespace = "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey=k="
	for _, c := range []struct {
		name, kind string
		environ    []string
		want       Broker
	}{
		{"a URL, as it is", "rabbitmq", []string{"B=amqp://u:p%40@h:1/v"},
			Broker{Setting: "B", ConnectionString: "amqp://u:p%40@h:1/v"}},
		{"the portal's form", "rabbitmq", []string{"CUSTOMCONNSTR_B=amqps://h"},
			Broker{Setting: "CUSTOMCONNSTR_B", ConnectionString: "amqps://h"}},
		{"AzureWebJobs is Azure's", "rabbitmq", []string{"AzureWebJobsB=amqp://a", "B=amqp://b"},
			Broker{Setting: "B", ConnectionString: "amqp://b"}},
		{"AzureWebJobs first", "servicebus", []string{"AzureWebJobsB=" + namespace, "B=other"},
			Broker{Setting: "AzureWebJobsB", ConnectionString: namespace}},
		{"a string wins", "servicebus", []string{"B=" + namespace, "B__fullyQualifiedNamespace=x.y"},
			Broker{Setting: "B", ConnectionString: namespace}},
		{"a SAS", "eventhubs", []string{"B=Endpoint=sb://x/;SharedAccessSignature=SharedAccessSignature sr=1;EntityPath=e"},
			Broker{Setting: "B", ConnectionString: "Endpoint=sb://x/;SharedAccessSignature=SharedAccessSignature sr=1;EntityPath=e"}},
		{"Kafka", "kafka", []string{"B=kafka://u:p%40@h:9092,i?tls=true"},
			Broker{Setting: "B", ConnectionString: "kafka://u:p%40@h:9092,i?tls=true"}},
		{"Event Hubs behind Kafka", "kafka", []string{"B=" + namespace}, Broker{Setting: "B", ConnectionString: namespace}},
		{"an identity", "eventhubs", []string{"B__fullyQualifiedNamespace=x.servicebus.windows.net",
			"B__credential=ManagedIdentity", "B__clientId=c"},
			Broker{Setting: "B", Namespace: "x.servicebus.windows.net",
				Identity: Identity{Credential: "managedidentity", ClientID: "c"}}},
		{"a service principal", "servicebus",
			[]string{"b__fullyQualifiedNamespace=x.y", "B__tenantId=t", "B__clientId=c", "B__clientSecret=p"},
			Broker{Setting: "B", Namespace: "x.y", Identity: Identity{TenantID: "t", ClientID: "c", ClientSecret: "p"}}},
	} {
		var faults Faults
		s := newScope("", nil, &faults)
		got := newEnviron(c.environ).broker(s, "k", "B", c.kind)
		if diff := cmp.Diff(c.want, got, bare); diff != "" || len(faults) > 0 {
			t.Errorf("%s: %v %s", c.name, faults, diff)
		}
	}
}

// A setting of one mode is a fault in the other, whichever it is, and its value is not read.
func TestSettingsOfTheOtherMode(t *testing.T) {
	checked := 0
	for m, cursor := range map[mode.Mode]string{mode.Cursor: "id", mode.Outbox: ""} {
		for _, row := range slices.Concat(pollerSettings, outputSettings) {
			if row.isFor(m) {
				continue
			}
			key := strings.NewReplacer("<role>", "payload", "<event_type>", "paid").Replace(row.name)
			if strings.HasPrefix(key, "destinations") {
				key = "output__" + key
			}
			name := "pollers__orders__" + key
			app, _ := Load(with("pollers__orders__source__mode="+string(m), "pollers__orders__source__cursor="+cursor,
				name+"=(?"))
			faults := app.AllFaults()
			if len(faults) != 1 || faults[0].Setting != name ||
				faults[0].Problem != "has no effect with source__mode="+string(m) || faults[0].Mend == "" {
				t.Errorf("%s in %s mode: %v", row.name, m, faults)
			}
			if app, err := Load(with("pollers__orders__source__mode="+string(m), "pollers__orders__source__cursor="+cursor,
				name+"=")); err != nil {
				t.Errorf("%s in %s mode, but empty: %v", row.name, m, app.AllFaults())
			}
			checked++
		}
	}
	if checked < 25 {
		t.Errorf("only %d settings were checked", checked)
	}
}

// TestRolesOfOutboxColumns: config names the same roles as the package that knows what they mean, which it does not
// import.
func TestRolesOfOutboxColumns(t *testing.T) {
	want, got := slices.Sorted(slices.Values(mapping.Roles())), slices.Sorted(slices.Values(roles))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roles (-known +accepted):\n%s", diff)
	}
}
