package production

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/source"
)

// verdictCase is what an item says of the facts of a good app with something changed.
type verdictCase struct {
	id       string
	settings []string // see factsOf
	change   func(f *inspect.App, p *inspect.Poller)
	want     Verdict
	says     string // in what was seen, or in the mend
}

// cases are those of all groups.
func cases() []verdictCase {
	return slices.Concat(appCases(), stateCases(), timeCases(), sourceCases(), securityCases(), secretCases(),
		outputCases(), outboxCases(), operationCases())
}

// try holds the verdicts of cases against what the items say.
func try(t *testing.T, cases []verdictCase) {
	t.Helper()
	for _, c := range cases {
		f, p := factsOf(t, c.settings...)
		if c.change != nil {
			c.change(f, p)
		}
		at := slices.IndexFunc(checklist(), func(i item) bool { return i.id == c.id })
		if at < 0 {
			t.Fatalf("no item %s", c.id)
		}
		got := Judge(f, nil).Items[at].Answers[0]
		if got.Verdict != c.want || !strings.Contains(got.Seen+" → "+got.Mend, c.says) || got.Seen == "" ||
			(got.Mend != "") != (c.want == ToMend || c.want == CannotTell) {
			t.Errorf("%s with %q is %s: %s → %s; want %s, %q", c.id, c.settings, got.Verdict, got.Seen, got.Mend, c.want, c.says)
		}
	}
}

const (
	outboxMode = "pollers__orders__source__mode=outbox"
	account    = "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=eA=="
)

var (
	blob      = []string{"state__kind=blob", "AzureWebJobsStorage=" + account}
	deadQueue = []string{"Q=" + account, "pollers__orders__dead_letter__kind=queue",
		"pollers__orders__dead_letter__connection=Q"}
)

// factsOf are facts of an app in which nothing is to mend, with settings changed or added, "name=value", or taken away,
// "name=". What the settings lead to outside of the configuration, as connections, is as of the settings that are not
// changed.
func factsOf(t *testing.T, settings ...string) (*inspect.App, *inspect.Poller) {
	t.Helper()
	env := map[string]string{
		"state__kind": "file", "state__path": "/var/lib/rowrelay", "state__app_name": "shop",
		"DB":                                  "postgres://reader:x@db.example.com/shop",
		"pollers__orders__source__connection": "DB", "pollers__orders__source__table": "orders",
		"pollers__orders__output__url":    "https://hooks.example.com/x",
		"pollers__orders__output__kind":   "http",
		"pollers__orders__output__secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	}
	if !slices.Contains(settings, outboxMode) {
		env["pollers__orders__source__cursor"] = "tx"
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if env[name] = value; value == "" {
			delete(env, name)
		}
	}
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	cfg, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	if faults := errors.Join(asErrors(cfg.Faults)...); faults != nil || len(cfg.Pollers) != 1 ||
		len(cfg.Pollers[0].Faults) > 0 {
		t.Fatal(faults, cfg.Pollers[0].Faults)
	}
	p := &inspect.Poller{
		Config: cfg.Pollers[0], Engine: "postgres", Destinations: []string{"http https://hooks.example.com"},
		DeadLetters: "deadletters/shop/orders/",
		Links: []inspect.Link{
			{What: inspect.TheSource, Setting: "DB", Kind: "postgres", Host: "db.example.com", Safety: engine.LinkVerified,
				Secret: true},
			{What: "the output", Setting: "output__url", Kind: "http", Host: "hooks.example.com", Safety: engine.LinkVerified},
		},
		Timer: inspect.Timer{Text: "*/10 * * * * *", Fires: true, Gap: 10 * time.Second},
		Table: inspect.Table{
			Late:  &inspect.Late{Mode: late.Exact, Why: "tx is an xid8", Shown: true},
			Check: source.Check{Index: "orders_tx", KeyProof: "primary key (id)", Incarnation: "1"},
		},
		Rights: engine.Rights{Told: true, Login: "reader", Autovacuum: true, Vacuums: "autovacuum_vacuum_scale_factor=0",
			RowVersions: true},
		Cursor: []source.CursorColumn{{Name: "tx", Type: "xid8", Moved: "is an xid8"}}, Queues: map[string]error{},
	}
	if p.Can(mode.Marks) {
		p.Table, p.Cursor, p.DeadLetters = inspect.Table{}, nil, "the rows themselves"
		p.Outbox = &inspect.Outbox{About: publisher.About{Strategy: claims.Partitioned, Layout: "own"}}
	}
	f := &inspect.App{
		Config: cfg, Environ: environ, Pollers: []*inspect.Poller{p},
		Store: inspect.Store{Name: "files below /var/lib/rowrelay", Opened: true, Copies: inspect.Copies{Documents: 1}},
	}
	if s := &cfg.State; s.Kind == "blob" {
		f.Store.Name = "blob container " + s.Container
		f.Store.Link = &inspect.Link{What: "the state store", Setting: s.Connection.Setting, Safety: engine.LinkVerified,
			Secret: s.Connection.ConnectionString != "", Entra: true}
	}
	return f, p
}

func asErrors(faults config.Faults) (errs []error) {
	for _, fault := range faults {
		errs = append(errs, fault)
	}
	return errs
}

// hosted makes a Function App of it, with the functions that `rowrelay functions` writes.
func hosted(f *inspect.App, p *inspect.Poller) {
	f.Host = &inspect.Host{Timeout: 5 * time.Minute}
	add := func(name string, trigger host.Binding) {
		file := host.FunctionFile{Bindings: []host.Binding{trigger}}
		have := host.FunctionFile{Bindings: []host.Binding{trigger}} // of its own: a case changes it
		p.Functions = append(p.Functions, inspect.Function{Name: name, Want: file, Have: have})
	}
	add("orders", host.Binding{Type: "timerTrigger", Schedule: "%ORDERS_SCHEDULE%"})
	s := &p.Config.Source
	if p.Can(mode.Marks) && s.CleanupSchedule != "" {
		add("orders_cleanup", host.Binding{Type: "timerTrigger", Schedule: s.CleanupSchedule})
	}
	if s.FanoutQueue != "" {
		add("orders_partition", host.Binding{Type: "queueTrigger", Queue: s.FanoutQueue, Connection: s.FanoutSetting})
	}
}

// both makes several changes.
func both(changes ...func(f *inspect.App, p *inspect.Poller)) func(f *inspect.App, p *inspect.Poller) {
	return func(f *inspect.App, p *inspect.Poller) {
		for _, change := range changes {
			change(f, p)
		}
	}
}
