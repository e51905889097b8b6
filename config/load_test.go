package config

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // as the binary does

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// good is the smallest configuration of one poller, and what it refers to.
func good(more ...string) []string {
	return append([]string{
		"state__kind=file",
		"ORDERS_DB=sqlite:shop.db",
		"pollers__orders__source__connection=ORDERS_DB",
		"pollers__orders__source__table=orders",
		"pollers__orders__source__cursor=updated_at",
		"pollers__orders__output__kind=stdout",
	}, more...)
}

// with is good with one or more settings replaced or, where the value is empty, left out.
func with(changes ...string) []string {
	list := good()
	for _, c := range changes {
		name, _, _ := strings.Cut(c, "=")
		list = slices.DeleteFunc(list, func(kv string) bool { n, _, _ := strings.Cut(kv, "="); return n == name })
		list = append(list, c)
	}
	return list
}

func TestLoadDefaults(t *testing.T) {
	app, err := Load(good("PATH=/bin", "HOME=/root", "=C:=C:\\"))
	if err != nil {
		t.Fatal(err)
	}
	want := &App{
		State: State{Kind: "file", ConnectionSetting: "AzureWebJobsStorage", Container: "db-state", Path: ".rowrelay",
			AppName: "local"},
		Log:    Log{Level: "info"},
		Status: Status{Listen: "127.0.0.1:7878"}, MaxChangesPerWorker: 1000, AppLockTimeout: 30 * time.Second,
		Pollers: []*Poller{{
			Name: "orders",
			Source: Source{
				ConnectionSetting: "ORDERS_DB", Connection: Database{Setting: "ORDERS_DB", ConnectionString: "sqlite:shop.db"},
				Mode: "cursor", Table: "orders", Cursor: []string{"updated_at"}, Start: "earliest", TimeZone: "UTC",
				Location: time.UTC,
				Op:       "upsert", NullCursor: "report", Timeout: 30 * time.Second, Connections: 4,
				LateCommits: "auto", LateWindow: 2 * time.Minute, LateLimit: time.Minute, LateMemory: 1_000_000,
				OnLongTransaction: "deliver_late", OnFailover: "stop", FutureRows: "deliver",
			},
			Outputs: []Output{{Kind: "stdout", Timeout: 30 * time.Second, Format: "cloudevents", Batch: 100, BatchBytes: 1 << 20,
				MaxMessageBytes: 1_000_000, Retries: 3, RejectStatus: []int{400, 413, 422}}},
			Schedule: "*/1 * * * * *", BatchSize: 500, BatchSizeMax: 4000, BatchBytes: 8 << 20, MaxRowBytes: 4 << 20,
			TickBudget: 50 * time.Second,
			LeaseTTL:   time.Minute, Ordering: "key", Concurrency: 8,
			MaxAttempts: 5, RetryDelays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute},
			MaxParked: 1000, AfterDeadLetter: "release", DeadLetter: DeadLetter{Kind: "state"},
		}},
	}
	if diff := cmp.Diff(want, app, cmpopts.IgnoreUnexported(Poller{}),
		cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() }),
		cmp.Comparer(func(a, b Secret) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestLoadEverySetting(t *testing.T) {
	app, err := Load([]string{
		"STATE__KIND=Blob", "State__Connection=STATE_STORAGE", "state__container=my-state", "state__create=TRUE",
		"state__path=/var/lib/x", "state__app_name=shop", "log__level=debug", "status__listen=0.0.0.0:80",
		"status__token=sixteen letters!",
		"AzureWebJobsSTATE_STORAGE=UseDevelopmentStorage=true", "STATE_STORAGE=wrong one",
		"SQLAZURECONNSTR_DB=Server=tcp:x;Password=p",
		"Pollers__Orders__Source__Connection=DB", "pollers__orders__source__mode=cursor",
		"pollers__orders__source__query=SELECT * FROM o", "pollers__orders__source__cursor=a, [b, c]",
		"pollers__orders__source__key=id", "pollers__orders__source__order_key=customer_id",
		"pollers__orders__source__columns=id,total",
		"pollers__orders__source__where=region = '%REGION%' AND name LIKE 'a%%'", "REGION=EU",
		"pollers__orders__source__start=LATEST", "pollers__orders__source__time_zone=+02:00",
		"pollers__orders__source__delete_when=[deleted at]",
		"pollers__orders__source__op=upsert", "pollers__orders__source__null_cursor=fail",
		"pollers__orders__source__identity=me",
		"pollers__orders__source__timeout=5s", "pollers__orders__source__connections=2",
		"pollers__orders__source__late_commits=OVERLAP", "pollers__orders__source__late_window=10s",
		"pollers__orders__source__late_limit=3s",
		"pollers__orders__source__late_memory=2000", "pollers__orders__source__on_long_transaction=wait",
		"pollers__orders__source__on_failover=continue",
		"pollers__orders__source__future_rows=hold",
		"pollers__orders__max_attempts=3", "pollers__orders__retry_delays=100ms , 1m30s", "pollers__orders__max_parked=20",
		"pollers__orders__after_dead_letter=block", "pollers__orders__dead_letter__kind=queue",
		"pollers__orders__dead_letter__connection=STATE_STORAGE",
		"pollers__orders__output__reject_status=409, 500",
		"pollers__orders__schedule=*/5 * * * * *", "pollers__orders__batch_size=10", "pollers__orders__batch_size_max=20",
		"pollers__orders__batch_bytes=64KiB",
		"pollers__orders__max_row_bytes=8 MiB", "pollers__orders__max_batches=3", "pollers__orders__tick_budget=1m",
		"pollers__orders__poll_interval=250ms", "pollers__orders__poll_interval_max=2s", "pollers__orders__lease_ttl=30s",
		"pollers__orders__ordering=KEY", "pollers__orders__concurrency=1",
		"pollers__orders__output__kind=http", "pollers__orders__output__url=https://example.com/x?code=abc%%3D",
		"pollers__orders__output__timeout=3s", "pollers__orders__output__headers__X_Api_Key=%KEY%", "KEY=k",
		"pollers__orders__output__secret=whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"pollers__orders__output__gzip=true",
		"pollers__orders__output__format=row", "pollers__orders__output__batch=1",
		"pollers__orders__output__batch_bytes=1048576", "pollers__orders__output__retries=1",
		"pollers__orders__outputs__audit__kind=queue", "pollers__orders__outputs__audit__connection=AzureWebJobsStorage",
		"AzureWebJobsStorage__accountName=acct", "AzureWebJobsStorage__credential=managedidentity",
		"AzureWebJobsStorage__clientId=cid",
	})
	if err != nil {
		t.Fatal(err)
	}
	p := app.Poller("orders")
	if p == nil || !p.ScheduleSet {
		t.Fatalf("poller %+v", p)
	}
	wantSource := Source{
		ConnectionSetting: "DB", Connection: Database{Setting: "SQLAZURECONNSTR_DB",
			ConnectionString: "Server=tcp:x;Password=p"},
		Mode: "cursor", Query: "SELECT * FROM o", Cursor: []string{"a", "b, c"}, Key: []string{"id"},
		OrderKey: []string{"customer_id"},
		Columns:  []string{"id", "total"}, Where: "region = 'EU' AND name LIKE 'a%'", Start: "latest", TimeZone: "+02:00",
		DeleteWhen: "deleted at",
		Op:         "upsert", NullCursor: "fail", Identity: "me", Timeout: 5 * time.Second, Connections: 2,
		LateCommits: "overlap", LateWindow: 10 * time.Second, LateLimit: 3 * time.Second, LateMemory: 2000,
		OnLongTransaction: "wait", OnFailover: "continue", FutureRows: "hold",
	}
	same := cmp.Options{cmp.Comparer(func(a, b Secret) bool { return a == b }),
		cmp.Comparer(func(a, b Address) bool { return a == b }),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Location" }, cmp.Ignore())}
	if diff := cmp.Diff(wantSource, p.Source, same); diff != "" {
		t.Error(diff)
	}
	if _, offset := time.Date(2026, 1, 1, 0, 0, 0, 0, p.Source.Location).Zone(); offset != 7200 {
		t.Errorf("offset %d", offset)
	}
	wantOutputs := []Output{{
		Kind: "http", URL: "https://example.com/x?code=abc%3D", Timeout: 3 * time.Second,
		Headers: map[string]Secret{"X-Api-Key": "k"},
		Secret:  "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", Gzip: true, Format: "row", Batch: 1,
		BatchBytes: 1 << 20, MaxMessageBytes: 1_000_000, Retries: 1,
		RejectStatus: []int{409, 500},
	}, {
		Name: "audit", Kind: "queue", Timeout: 30 * time.Second, ConnectionSetting: "AzureWebJobsStorage", Queue: "orders",
		Connection: Storage{Setting: "AzureWebJobsStorage", QueueServiceURI: "https://acct.queue.core.windows.net",
			Identity: Identity{Credential: "managedidentity", ClientID: "cid"}},
		Format: "cloudevents", Batch: 100, BatchBytes: 1 << 20, MaxMessageBytes: 1_000_000,
		Retries: 3, RejectStatus: []int{400, 413, 422},
	}}
	if diff := cmp.Diff(wantOutputs, p.Outputs, same); diff != "" {
		t.Error(diff)
	}
	wantState := State{Kind: "blob", ConnectionSetting: "STATE_STORAGE", Container: "my-state", Create: true,
		Path: "/var/lib/x", AppName: "shop",
		Connection: Storage{Setting: "AzureWebJobsSTATE_STORAGE", ConnectionString: developmentStorage(""),
			Development: true}}
	if diff := cmp.Diff(wantState, app.State, same); diff != "" {
		t.Error(diff)
	}
	rest := *p
	rest.Name, rest.Source, rest.Outputs, rest.Warnings, rest.ScheduleSet = "", Source{}, nil, nil, false
	wantRest := Poller{BatchSize: 10, BatchSizeMax: 20, BatchBytes: 64 << 10, MaxRowBytes: 8 << 20, MaxBatches: 3,
		TickBudget:   time.Minute,
		PollInterval: 250 * time.Millisecond, PollIntervalMax: 2 * time.Second, LeaseTTL: 30 * time.Second, Ordering: "key",
		Concurrency: 1, Schedule: "*/5 * * * * *",
		MaxAttempts: 3, RetryDelays: []time.Duration{100 * time.Millisecond, 90 * time.Second}, MaxParked: 20,
		AfterDeadLetter: "block",
		DeadLetter: DeadLetter{Kind: "queue", ConnectionSetting: "STATE_STORAGE", Queue: "orders-dead",
			Connection: Storage{Setting: "AzureWebJobsSTATE_STORAGE", ConnectionString: developmentStorage(""),
				Development: true}}}
	if diff := cmp.Diff(wantRest, rest, same, cmpopts.IgnoreUnexported(Poller{})); diff != "" {
		t.Error(diff)
	}
	if app.Log.Level != "debug" || app.Status.Listen != "0.0.0.0:80" || app.Status.Token != "sixteen letters!" {
		t.Errorf("%+v %+v", app.Log, app.Status)
	}
}

// Every row of the tables must have a field that takes its example or its default: the table and the structs cannot
// part.
func TestEveryRowHasItsField(t *testing.T) {
	var own struct {
		State  State  `json:"state"`
		Log    Log    `json:"log"`
		Status Status `json:"status"`
		// of the Azure SQL trigger
		MaxChangesPerWorker int `json:"Sql_Trigger_MaxChangesPerWorker"`
		MaxBatchSize        int `json:"Sql_Trigger_MaxBatchSize"`
		BatchSize           int `json:"Sql_Trigger_BatchSize"`
		PollingInterval     int `json:"Sql_Trigger_PollingIntervalMs"`
		AppLockTimeout      int `json:"Sql_Trigger_AppLockTimeoutMs"`
	}
	for _, c := range []struct {
		table []setting
		fresh func() any
	}{
		{appSettings, func() any { x := own; return &x }},
		{pollerSettings, func() any { return &Poller{} }},
		{outputSettings, func() any { return &Output{} }},
	} {
		for _, row := range c.table {
			value := row.kind.Example
			switch {
			case row.name == "secret":
				value = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
			case value == "":
				value = "x"
			}
			var faults Faults
			s := newScope("", []setting{row}, &faults)
			key := strings.NewReplacer("<Name>", "x_y", "<role>", "payload", "<event_type>", "order.placed",
				"<op>", "delete").Replace(row.name)
			s.put(key, given{name: key, raw: value})
			got := c.fresh()
			s.read(newEnviron(nil), got)
			if len(faults) > 0 {
				t.Errorf("%s=%s: %v", row.name, value, faults)
			}
			if cmp.Equal(c.fresh(), got, cmpopts.IgnoreUnexported(Poller{}),
				cmp.Comparer(func(a, b Secret) bool { return a == b }), cmp.Comparer(func(a, b Address) bool { return a == b })) {
				t.Errorf("%s=%s changed nothing: it has no field", row.name, value)
			}
		}
	}
}

func TestOneBadPollerLeavesTheOthers(t *testing.T) {
	app, err := Load(good("pollers__bad__source__connection=ORDERS_DB", "pollers__bad__batch_size=x",
		"poller__typo__batch_size=3"))
	if err == nil {
		t.Fatal("no error")
	}
	if len(app.Pollers) != 3 || len(app.Faults) != 0 {
		t.Fatalf("%d pollers, app faults %v", len(app.Pollers), app.Faults)
	}
	orders, bad, typo := app.Poller("orders"), app.Poller("bad"), app.Poller("typo")
	if len(orders.Faults) != 0 {
		t.Errorf("orders: %v", orders.Faults)
	}
	if len(bad.Faults) != 4 { // batch_size, cursor, table, output
		t.Errorf("bad: %v", bad.Faults)
	}
	if len(typo.Faults) != 1 {
		t.Errorf("typo: %v", typo.Faults)
	}
	if want := bad.Faults.Error() + "\n" + typo.Faults.Error(); err.Error() != want {
		t.Errorf("error\n%v\nwant\n%v", err, want)
	}
}

func TestAppFaultsStopAll(t *testing.T) {
	app, _ := Load(with("state__kind=tape"))
	if len(app.Faults) != 1 || len(app.Poller("orders").Faults) != 0 {
		t.Errorf("%v", app.AllFaults())
	}
}

func TestAppName(t *testing.T) {
	app, err := Load(good("WEBSITE_SITE_NAME=func-orders"))
	if err != nil || app.State.AppName != "func-orders" {
		t.Errorf("%q %v", app.State.AppName, err)
	}
}

func TestSettingAsWritten(t *testing.T) {
	app, err := Load(good("Pollers__ORDERS__Schedule=x", "pollers__orders__output__TIMEOUT=1s"))
	if err != nil {
		t.Fatal(err)
	}
	p := app.Poller("orders")
	for key, want := range map[string]string{"schedule": "Pollers__ORDERS__Schedule",
		"output__timeout": "pollers__orders__output__TIMEOUT",
		"batch_size":      "pollers__orders__batch_size"} {
		if got := p.Setting(key); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
	if app.Poller("absent") != nil {
		t.Error("a poller that is absent was found")
	}
}

func TestMerge(t *testing.T) {
	got := Merge([]string{"A=1", "STATE__KIND=file"}, []string{"a=2", "state__kind=blob", "B=3"})
	if want := []string{"A=1", "STATE__KIND=file", "B=3"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
