package production

import (
	"os"
	"slices"
	"testing"

	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/inspect"
)

func TestAppItems(t *testing.T) { try(t, appCases()) }

func appCases() []verdictCase {
	yes, no := true, false
	timer := func(b host.Binding) host.FunctionFile {
		b.Type = "timerTrigger"
		return host.FunctionFile{Bindings: []host.Binding{b}}
	}
	fanout := []string{outboxMode, "Q=" + account, "pollers__orders__source__fanout_connection=Q",
		"pollers__orders__source__fanout_queue=parts"}
	return []verdictCase{
		{"settings", nil, func(f *inspect.App, _ *inspect.Poller) {
			f.Faults = []string{"x: is wrong"}
		}, ToMend, "x: is wrong"},
		{"settings", nil, nil, OK, "1 poller(s)"},
		{"app-name", []string{"state__app_name="}, nil, ToMend, "local by default"},
		{"app-name", []string{"state__app_name=", "STATE__APP_NAME=shop"}, nil, OK, "shop"},
		{"app-name", []string{outboxMode, "state__app_name=", "state__kind=", "state__path="}, nil, NoMatter,
			"no state documents"},
		{"slots", nil, nil, NoMatter, ""},
		{"slots", nil, hosted, CannotTell, "WEBSITE_SLOT_NAME is not set"},
		{"slots", []string{"WEBSITE_SLOT_NAME=staging"}, hosted, ToMend, "orders"},
		{"slots", []string{"WEBSITE_SLOT_NAME=Production"}, hosted, CannotTell, "the others are not seen"},
		{"slots", []string{outboxMode, "WEBSITE_SLOT_NAME=staging", "AzureWebJobs.orders.Disabled=true"}, hosted, ToMend,
			"orders_cleanup"},
		{"slots", []string{"WEBSITE_SLOT_NAME=staging", "AzureWebJobs.orders.Disabled=true"}, hosted, OK, ""},
		{"slots", []string{"WEBSITE_SLOT_NAME=staging"}, have("orders", host.FunctionFile{Disabled: true}), OK, ""},
		{"always-ready", nil, nil, NoMatter, ""},
		{"always-ready", nil, hosted, CannotTell, ""},
		{"always-ready", []string{"AzureWebJobs.orders.Disabled=1"}, hosted, ToMend, "disabled"},
		{"always-ready", []string{"WEBSITE_SLOT_NAME=Production", "AzureWebJobs.orders.Disabled=true"}, hosted, ToMend,
			"orders"},
		{"always-ready", []string{"WEBSITE_SLOT_NAME=staging", "AzureWebJobs_orders_Disabled=true"}, hosted, CannotTell, ""},
		{"functions", nil, nil, NoMatter, ""},
		{"functions", []string{outboxMode}, hosted, OK, "orders, orders_cleanup"},
		{"functions", nil, func(f *inspect.App, _ *inspect.Poller) {
			f.Host = &inspect.Host{}
		}, CannotTell, "no function.json was read"},
		{"functions", nil, both(hosted, func(_ *inspect.App, p *inspect.Poller) { p.Functions[0].Err = os.ErrNotExist }),
			ToMend, "rowrelay functions"},
		{"functions", nil, both(hosted, func(_ *inspect.App, p *inspect.Poller) { p.Functions[0].Have.Retry = []byte("{}") }),
			ToMend, "retry"},
		{"functions", nil, both(hosted, func(_ *inspect.App, p *inspect.Poller) {
			p.Functions[0].Have.Retry = []byte("null")
		}), OK, ""},
		{"functions", nil, have("orders", timer(host.Binding{RunOnStartup: true})), ToMend, "runOnStartup"},
		{"functions", nil, have("orders", timer(host.Binding{UseMonitor: &no})), ToMend, "useMonitor"},
		// its own schedule may stand there
		{"functions", nil, have("orders", timer(host.Binding{UseMonitor: &yes, Schedule: "0 * * * * *"})), OK, ""},
		{"functions", nil, have("orders", host.FunctionFile{}), ToMend, "no timerTrigger"},
		{"functions", []string{outboxMode},
			have("orders_cleanup", timer(host.Binding{Schedule: "0 0 * * * *", RunOnStartup: true})), ToMend,
			"orders_cleanup/function.json has runOnStartup"},
		{"functions", []string{outboxMode}, have("orders_cleanup", host.FunctionFile{Retry: []byte("{}")}), ToMend, "retry"},
		{"functions", []string{outboxMode}, have("orders_cleanup", timer(host.Binding{Schedule: "0 0 0 1 1 *"})), ToMend,
			"and the settings say"},
		{"functions", fanout, hosted, OK, "orders_partition"},
		{"functions", fanout, have("orders_partition", host.FunctionFile{}), ToMend, "no queueTrigger"},
		{"functions", fanout, have("orders_partition",
			host.FunctionFile{Bindings: []host.Binding{{Type: "queueTrigger", Queue: "other",
				Connection: "Q"}}}), ToMend, "reads the queue"},
		{"functions", nil, both(hosted, func(_ *inspect.App, p *inspect.Poller) {
			p.Leftovers = []string{"orders_cleanup/ is left over"}
		}), ToMend, "left over"},
		{"log-level", nil, nil, OK, ""},
		{"log-level", []string{"log__level=debug"}, nil, ToMend, "debug"},
		{"log-level", []string{"log__level=error"}, nil, ToMend, "error"},
		{"log-level", nil, passes("Warning"), ToMend, "logging.logLevel.default is Warning, for Function.orders"},
		{"log-level", nil, passes("None"), ToMend, "is None"},
		{"log-level", nil, passes("information"), OK, ""},
		{"log-level", nil, passes(""), OK, ""},
	}
}

// have makes a Function App, one of whose functions has this function.json.
func have(name string, file host.FunctionFile) func(*inspect.App, *inspect.Poller) {
	return both(hosted, func(_ *inspect.App, p *inspect.Poller) {
		at := slices.IndexFunc(p.Functions, func(fn inspect.Function) bool { return fn.Name == name })
		p.Functions[at].Have = file
	})
}

// passes makes a Function App whose host passes on what a poller says from a level on.
func passes(level string) func(*inspect.App, *inspect.Poller) {
	return both(hosted, func(f *inspect.App, _ *inspect.Poller) {
		f.Host.LogLevels = []inspect.LogLevel{
			{Category: "Host.Function.Console", Level: "Information", Rule: "logging.logLevel.host"},
			{Category: "Function.orders", Level: level, Rule: "logging.logLevel.default"},
		}
	})
}
