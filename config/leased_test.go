package config

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/mode"
)

// leases are the settings of a poller whose changes are shared, without faults.
func leases(more ...string) []string {
	return append([]string{"ORDERS_DB=sqlserver://u:p@db.example.com?database=shop", "WEBSITE_SITE_NAME=shop",
		"pollers__orders__source__connection=ORDERS_DB", "pollers__orders__source__mode=changetracking",
		"pollers__orders__source__leases=azfunc", "pollers__orders__source__table=dbo.Orders",
		"pollers__orders__output__kind=stdout"}, more...)
}

// TestLeasesDefaults: the settings of the Azure SQL trigger are honoured, and need no state store.
func TestLeasesDefaults(t *testing.T) {
	app, err := Load(leases())
	if err != nil {
		t.Fatal(err)
	}
	p := app.Pollers[0]
	if p.Source.Mode != mode.Leased || p.Source.SiteName != "shop" || p.Source.FunctionName != "orders" ||
		p.BatchSize != 100 || p.PollInterval != time.Second || app.AppLockTimeout != 30*time.Second ||
		p.LeaseTTL != time.Minute {
		t.Errorf("%+v", p)
	}
	app, err = Load(leases("Sql_Trigger_BatchSize=400", "SQL_TRIGGER_POLLINGINTERVALMS=500",
		"Sql_Trigger_AppLockTimeoutMs=5000", "pollers__orders__source__function_name=OrdersTrigger"))
	if err != nil {
		t.Fatal(err)
	}
	p = app.Pollers[0]
	if p.BatchSize != 400 || p.PollInterval != 500*time.Millisecond || app.AppLockTimeout != 5*time.Second ||
		p.Source.FunctionName != "OrdersTrigger" {
		t.Errorf("%+v", p)
	}
	app, err = Load(leases("Sql_Trigger_BatchSize=400", "Sql_Trigger_MaxBatchSize=300",
		"pollers__orders__poll_interval=0s"))
	if err != nil || app.Pollers[0].BatchSize != 300 || app.Pollers[0].PollInterval != 0 {
		t.Errorf("%v %+v", err, app.Pollers[0])
	}
}

// TestCompat: source__compat=binding has the binding's own values, and refuses what the binding does not have.
func TestCompat(t *testing.T) {
	const compat = "pollers__orders__source__compat=binding"
	app, err := Load(leases(compat, "Sql_Trigger_MaxBatchSize=300"))
	if err != nil {
		t.Fatal(err)
	}
	p := app.Pollers[0]
	if p.Source.Compat != "binding" || p.BatchSize != 300 || p.Concurrency != 1 || p.MaxAttempts != 5 ||
		p.LeaseTTL != time.Minute || len(p.Warnings) != 1 {
		t.Errorf("%+v", p)
	}
	for _, given := range []string{"source__where=a=1", "source__operations=insert", "lease_ttl=30s", "max_attempts=3",
		"retry_delays=1s", "concurrency=2", "output__batch=10", "output__retries=2", "source__leases_lock=table"} {
		_, err := Load(leases(compat, "pollers__orders__"+given))
		key, _, _ := strings.Cut(given, "=")
		if err == nil || !strings.Contains(err.Error(), key+": is the binding's own with source__compat=binding") {
			t.Errorf("%s: %v", given, err)
		}
	}
	_, err = Load(append(leases("pollers__orders__source__leases=none")[:4], "state__kind=memory", compat,
		"pollers__orders__source__table=dbo.Orders", "pollers__orders__output__kind=stdout"))
	if err == nil || !strings.Contains(err.Error(), "source__compat") {
		t.Errorf("without leases: %v", err)
	}
}

// TestLeasesFanout: the changes that instances share are handed out by a queue as an outbox's partitions are.
func TestLeasesFanout(t *testing.T) {
	app, err := Load(leases("pollers__orders__source__fanout_queue=orders-workers",
		"AzureWebJobsStorage=UseDevelopmentStorage=true", "pollers__orders__source__fanout_connection=AzureWebJobsStorage"))
	if err != nil || app.Pollers[0].Source.FanoutQueue != "orders-workers" || !app.Pollers[0].Source.Fanout.Development {
		t.Errorf("%v %+v", err, app.Pollers[0].Source)
	}
}

// TestLeasesFaults: what has no meaning beside leases on rows is refused, with what to do.
func TestLeasesFaults(t *testing.T) {
	for given, want := range map[string]string{
		"ORDERS_DB=sqlite:shop.db":                              "the connection is of sqlite",
		"pollers__orders__source__legacy_function_id=OrdersApp": "is no id of a function",
		"WEBSITE_SITE_NAME=":                                    "is required where there is no WEBSITE_SITE_NAME",
		"pollers__orders__ordering=source":                      "source needs one instance that sends",
		"pollers__orders__after_dead_letter=block":              "block keeps a key parked",
		"pollers__orders__source__start=7":                      "Write earliest or latest",
		"pollers__orders__source__start=snapshot":               "docs/azure-sql-trigger.md#the-whole-table-first",
		"pollers__orders__source__changed=note":                 "Remove it: it is not shared",
		"pollers__orders__source__on_gap=resync":                "Remove it: it is not shared",
		"pollers__orders__outputs__audit__kind=stdout":          "a lease cannot say to which",
		"Sql_Trigger_AppLockTimeoutMs=10":                       "Sql_Trigger_AppLockTimeoutMs",
		"pollers__orders__source__leases=none":                  "",
		"pollers__orders__source__fanout_queue=orders-workers":  "source__fanout_connection: is required",
		"pollers__orders__source__order_key=tenant":             "has no effect with",
		"pollers__orders__source__track_table=rowrelay_changes": "has no effect with",
	} {
		list := leases("state__kind=memory")
		name, _, _ := strings.Cut(given, "=")
		for i := range list {
			if strings.HasPrefix(list[i], name+"=") {
				list[i], name = given, ""
			}
		}
		if name != "" {
			list = append(list, given)
		}
		_, err := Load(list)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
}
