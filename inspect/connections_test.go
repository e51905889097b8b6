package inspect_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/production"
)

// TestProductionOfConnections: what protects the ways to other machines, and who logs in there, is read off the
// settings.
func TestProductionOfConnections(t *testing.T) {
	const ok, mend = production.OK, production.ToMend
	const shop, key = "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=eA==",
		"DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=eA=="
	principal := []string{
		"pollers__orders__output__url=", "pollers__orders__output__secret=", "pollers__orders__output__kind=servicebus",
		"pollers__orders__output__destination=orders",
		"pollers__orders__output__connection=SB", "SB__fullyQualifiedNamespace=shop.servicebus.windows.net", "SB__tenantId=t",
		"SB__clientId=c", "SB__clientSecret=s",
	}
	rabbit := []string{"pollers__orders__output__kind=rabbitmq", "pollers__orders__output__connection=B",
		"B=amqp://u:p@b.example.com/"}
	kafka := func(broker string) []string {
		return []string{
			"pollers__orders__output__url=", "pollers__orders__output__secret=", "pollers__orders__output__kind=kafka",
			"pollers__orders__output__destination=orders",
			"pollers__orders__output__connection=B", "B=kafka://u:p@" + broker,
		}
	}
	managed := []string{"DB=", "DB__server=shop.database.windows.net", "DB__database=shop",
		"DB__credential=managedidentity"}
	local := func(name string) map[string]string {
		return map[string]string{"local.settings.json": `{"Values":{"` + name + `":"x"}}`}
	}
	const otel = "OTEL_EXPORTER_OTLP_ENDPOINT="
	tryGathering(t, []gatheringCase{
		{"source-tls", nil, nil, ok, "db.example.com"},
		{"source-tls", []string{"DB=postgres://u:p@db.example.com/shop?sslmode=require"}, nil, mend, "sslmode is require"},
		{"source-tls", []string{"DB=mysql://u:p@db.example.com/shop?tls=false"}, nil, mend, "not encrypted"},
		{"output-tls", nil, nil, ok, "the output: verified TLS"},
		{"output-tls", []string{"pollers__orders__output__url=http://hooks.example.com/x"}, nil, mend, "plain http"},
		{"output-tls", rabbit, nil, mend, "amqps"},
		{"output-tls", []string{"state__kind=blob", "AzureWebJobsStorage=" + key}, nil, mend, "the state store"},
		{"output-tls", []string{otel + "http://otel.example.com"}, nil, mend, "telemetry: plain http"},
		{"output-tls", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://otel.example.com"}, nil, mend,
			"the traces: plain http"},
		{"output-tls", []string{otel + "https://otel.example.com", "OTEL_EXPORTER_OTLP_INSECURE=true"}, nil, mend,
			"OTEL_EXPORTER_OTLP_INSECURE=true"},
		{"identities", nil, nil, production.NoMatter, ""},
		{"identities", managed, nil, ok, ""},
		{"identities", principal, nil, mend, "SB"},
		{"identities", []string{"state__kind=blob", "AzureWebJobsStorage=" + shop}, nil, mend, "AzureWebJobsStorage"},
		{"identities", []string{"DB=Server=shop.database.windows.net;Database=shop;User ID=a;Password=b"}, nil, mend, "DB"},
		{"identities", []string{"DB=Server=tcp:Shop.database.usgovcloudapi.net,1433;Database=shop;User ID=a;Password=b"}, nil,
			mend, "DB"},
		{"identities", []string{"DB=Server=shop.database.chinacloudapi.cn;Database=shop;User ID=a;Password=b"}, nil, mend,
			"DB"},
		{"identities", []string{"DB=Server=shop.database.fabric.microsoft.com;Database=shop;User ID=a;Password=b"}, nil, mend,
			"DB"},
		{"identities", []string{"DB=Server=sql.example.com;Database=shop;User ID=a;Password=b"}, nil, production.CannotTell,
			"DB (sqlserver at sql.example.com)"},
		{"identities", []string{"DB=Server=database.windows.net.example.com;Database=shop;User ID=a;Password=b"}, nil,
			production.CannotTell, "DB"},
		{"identities", []string{"DB=Server=localhost;Database=shop;User ID=a;Password=b"}, nil, production.NoMatter,
			"DB (sqlserver)"},
		{"identities", []string{"DB=", "DB__server=sql.example.com", "DB__database=shop", "DB__credential=managedidentity"},
			nil, ok, "identities only"},
		{"identities", kafka("shop.servicebus.usgovcloudapi.net"), nil, mend, "B"},
		{"identities", kafka("kafka.example.com"), nil, production.NoMatter, "B (kafka)"},
		{"identities", []string{"AzureWebJobsStorage=" + shop}, hosted, mend, "AzureWebJobsStorage (the host's)"},
		{"login-rights", []string{"DB=sqlite:shop.db"}, nil, production.NoMatter, "SQLite"},
		{"secrets", []string{"DB=sqlite:shop.db", "pollers__orders__output__secret="}, nil, ok, ""},
		{"secrets", nil, nil, production.CannotTell, "DB"},
		{"secrets", nil, local("db"), mend, "local.settings.json holds DB"},
		{"secrets", principal, local("SB__clientSecret"), mend, "local.settings.json holds SB__clientSecret"},
		{"secrets", []string{"pollers__orders__output__headers__X_Api_Key=%KEY%", "KEY=k"}, local("KEY"), mend, "holds KEY"},
		{"secrets", []string{"AzureWebJobsStorage=" + shop}, local("AzureWebJobsStorage"), mend, "holds AzureWebJobsStorage"},
		{"metrics", []string{"OTEL_SDK_DISABLED=true", otel + "https://x"}, hosted, mend,
			"switches the export of metrics off"},
		{"metrics", []string{"OTEL_SDK_DISABLED=true"}, nil, production.CannotTell, "whether somebody scrapes"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://otel.example.com", "OTEL_METRICS_EXPORTER=none"},
			nil, production.CannotTell, "whether somebody scrapes"},
		{"metrics", []string{otel + "http://otel.example.com"}, nil, mend, "plain http"},
		{"metrics", []string{otel + "https://otel.example.com", "OTEL_EXPORTER_OTLP_INSECURE=true"}, nil, mend,
			"in the clear"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://otel.example.com"}, nil, mend, "in the clear"},
		{"metrics", []string{otel + "https://otel.example.com", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, nil, mend,
			"not exported"},
		{"metrics", []string{otel + "https://otel.example.com", "OTEL_METRICS_EXPORTER=prometheus"}, hosted, mend,
			"OTEL_METRICS_EXPORTER=prometheus"},
		{"metrics", []string{otel + "https://otel.example.com", "OTEL_METRICS_EXPORTER=prometheus"}, nil,
			production.CannotTell, "whether somebody scrapes"},
		{"metrics", []string{otel + "https://otel.example.com", "OTEL_METRICS_EXPORTER=otpl"}, nil, mend, "not exported"},
		{"metrics", []string{otel + "otel.example.com:4318"}, nil, mend, "not exported"},
		{"metrics", []string{otel + "http://localhost:4318"}, nil, ok, ""},
		{"metrics", []string{otel + "http://localhost:4318"}, hosted, production.CannotTell, ""},
		{"metrics", []string{otel + "http://otel.example.com", "OTEL_EXPORTER_OTLP_INSECURE=false"}, nil, ok, ""},
		{"metrics", []string{"OTEL_METRICS_EXPORTER=otlp"}, nil, ok, "no endpoint is named"},
		{"metrics", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://otel.example.com"}, nil, production.CannotTell, ""},
		{"idempotent", nil, nil, production.CannotTell, "http https://hooks.example.com"},
		{"attempts", nil, nil, ok, "then deadletters/shop/orders/ in the state store"},
		{"attempts", []string{outboxMode}, nil, ok, "then the rows themselves"},
		{"lease", nil, nil, ok, "bears"},
		{"lease", []string{"pollers__orders__lease_ttl=10s"}, nil, mend, "10s"},
		{"lease", []string{outboxMode, "pollers__orders__source__claim_ttl=5s"}, nil, mend, "source__claim_ttl"},
		{"state-reached", nil, nil, ok, "/var/lib/rowrelay"},
		{"state-store", []string{"state__kind=blob", "AzureWebJobsStorage=UseDevelopmentStorage=true"}, nil, mend,
			"emulator"},
	})
}

// TestMarginOfTheStore: what the store takes off a lease is a fact of each poller with documents.
func TestMarginOfTheStore(t *testing.T) {
	f, p := factsOf(t, "state__kind=blob", "AzureWebJobsStorage=AccountName=shop;AccountKey=eA==")
	if want := storeOf(t, &f.Config.State).Margin(p.Config.LeaseTTL); want <= 0 || p.Margin != want {
		t.Errorf("%s, want %s", p.Margin, want)
	}
	if _, p := factsOf(t, outboxMode); p.Margin != 0 {
		t.Errorf("an outbox has no document: %s", p.Margin)
	}
}
