package inspect_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/production"
)

// TestProductionOfFiles: host.json and function.json are read as they stand there.
func TestProductionOfFiles(t *testing.T) {
	const ok, mend = production.OK, production.ToMend
	fanout := []string{
		outboxMode, "Q=DefaultEndpointsProtocol=https;AccountName=host;AccountKey=eA==",
		"pollers__orders__source__fanout_connection=Q", "pollers__orders__source__fanout_queue=parts",
	}
	host := func(text string) map[string]string { return map[string]string{"host.json": text} }
	function := func(name, text string) map[string]string { return map[string]string{name + "/function.json": text} }
	tryGathering(t, []gatheringCase{
		{"settings", nil, hosted, ok, ""},
		{"settings", nil, host(`{"functionTimeout":"soon"}`), mend, "not a time span"},
		{"slots", []string{"WEBSITE_SLOT_NAME=staging"}, hosted, mend, "orders"},
		{"slots", []string{"WEBSITE_SLOT_NAME=Production"}, hosted, production.CannotTell, ""},
		// its clean-up runs
		{"slots", []string{outboxMode, "WEBSITE_SLOT_NAME=staging", "AzureWebJobs.orders.Disabled=true"}, hosted, mend,
			"orders_cleanup"},
		{"slots", []string{"WEBSITE_SLOT_NAME=staging", "AzureWebJobs.orders.Disabled=true"}, hosted, ok, ""},
		{"slots", nil, nil, production.NoMatter, ""},
		{"always-ready", []string{"AzureWebJobs.orders.Disabled=1"}, hosted, mend, "disabled"},
		{"always-ready", []string{"WEBSITE_SLOT_NAME=Production", "AzureWebJobs.orders.Disabled=true"}, hosted, mend, ""},
		{"always-ready", nil, function("orders", `{"disabled":true,"bindings":[{"type":"timerTrigger"}]}`), mend, "disabled"},
		{"functions", []string{outboxMode}, hosted, ok, ""},
		{"functions", fanout, hosted, ok, "orders_partition"},
		{"functions", nil, function("orders", ""), mend, "rowrelay functions"},
		{"functions", nil, function("orders", "{"), mend, "cannot be read"},
		{"functions", nil, function("orders", `{"retry":{},"bindings":[{"type":"timerTrigger"}]}`), mend, "retry"},
		{"functions", nil, function("orders", `{"bindings":[{"type":"timerTrigger","runOnStartup":true}]}`), mend,
			"runOnStartup"},
		{"functions", nil, function("orders", `{"bindings":[{"type":"timerTrigger","useMonitor":false}]}`), mend,
			"useMonitor"},
		{"functions", nil, function("orders", `{"bindings":[]}`), mend, "no timerTrigger"},
		{"functions", []string{outboxMode},
			function("orders_cleanup", `{"bindings":[{"type":"timerTrigger","schedule":"0 0 * * * *","runOnStartup":true}]}`),
			mend, "orders_cleanup/function.json has runOnStartup"},
		{"functions", []string{outboxMode},
			function("orders_cleanup", `{"retry":{},"bindings":[{"type":"timerTrigger","schedule":"0 0 * * * *"}]}`), mend,
			"retry"},
		{"functions", []string{outboxMode},
			function("orders_cleanup", `{"bindings":[{"type":"timerTrigger","schedule":"0 0 0 1 1 *"}]}`), mend,
			"and the settings say"},
		{"functions", fanout, function("orders_partition", `{"bindings":[]}`), mend, "no queueTrigger"},
		{"functions", fanout, function("orders_partition",
			`{"bindings":[{"type":"queueTrigger","queueName":"other","connection":"Q"}]}`), mend, "reads the queue"},
		{"functions", []string{outboxMode, "pollers__orders__source__cleanup_schedule=none"},
			function("orders_cleanup", `{"bindings":[]}`), mend, "left over"},
		{"outbox-cleanup", []string{outboxMode}, hosted, ok, ""},
		{"outbox-cleanup", []string{outboxMode}, function("orders_cleanup", ""), mend, "orders_cleanup"},
		{"log-level", nil, hosted, ok, ""},
		{"log-level", nil, host(`{"logging":{"logLevel":{"default":"Warning"}}}`), mend, "logLevel.default"},
		{"log-level", nil, host(`{"logging":{"logLevel":{"Default":"Warning"}}}`), mend, "logLevel.default"},
		{"log-level", nil, host(`{"logging":{"logLevel":{"default":"Information","Function.orders":"Error"}}}`), mend,
			"function.orders is Error"},
		{"log-level", nil, host(`{"logging":{"logLevel":{"default":"Information","Function.Orders.User":"None"}}}`), mend,
			"function.orders.user is None"},
		{"log-level", []string{outboxMode}, host(`{"logging":{"logLevel":{"Function.orders_cleanup":"None"}}}`), mend,
			"for Function.orders_cleanup"},
		{"log-level", nil, host(`{"logging":{"logLevel":{"default":"Information","Host":"None"}}}`), mend,
			"for Host.Function.Console"},
		{"log-level", nil, host(`{"logging":{"applicationInsights":{"logLevel":{"default":"Critical"}}}}`), mend,
			"applicationInsights.logLevel.default is Critical"},
		{"log-level", []string{"AzureFunctionsJobHost__logging__logLevel__default=Warning"},
			host(`{"logging":{"logLevel":{"default":"Information"}}}`), mend, "is Warning"},
		{"log-level", []string{"AzureFunctionsJobHost__logging__logLevel__default=Information"},
			host(`{"logging":{"logLevel":{"default":"Warning"}}}`), ok, ""},
		{"state-store", nil, hosted, mend, "another instance"},
		{"budget", nil, hosted, ok, "functionTimeout 5m"},
		{"budget", []string{"pollers__orders__tick_budget=5m"}, hosted, mend, "not below"},
		{"budget", []string{"AzureFunctionsJobHost__functionTimeout=00:01:00"}, host(`{"functionTimeout":"00:10:00"}`), mend,
			"functionTimeout 1m0s"},
		{"budget", []string{"AzureFunctionsJobHost__functionTimeout=00:10:00"}, host(`{"functionTimeout":"00:01:00"}`), ok,
			""},
		{"status-page", nil, hosted, ok, ""},
		{"status-page", nil, function("statusactions", `{"bindings":[{"type":"httpTrigger","authLevel":"function"}]}`), mend,
			"authLevel is not admin in statusactions/function.json"},
		{"status-page", nil, function("open", `{"bindings":[{"type":"httpTrigger","authLevel":"anonymous"}]}`), mend,
			"anonymous in open/function.json"},
		{"status-page", nil, function("open", `{`), production.CannotTell, "open/function.json"},
		{"secrets", nil, map[string]string{"local.settings.json": `{"Values":{"DB":"x"}}`}, mend,
			"local.settings.json holds DB"},
	})
}
