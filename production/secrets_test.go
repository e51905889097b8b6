package production

import (
	"testing"

	"github.com/rowrelay/rowrelay/inspect"
)

func TestSecretItems(t *testing.T) { try(t, secretCases()) }

func secretCases() []verdictCase {
	held := func(name string) func(*inspect.App, *inspect.Poller) {
		return func(f *inspect.App, _ *inspect.Poller) {
			f.File, f.InFile = "local.settings.json", map[string]bool{name: true}
		}
	}
	hostKey := both(hosted, func(f *inspect.App, _ *inspect.Poller) { f.HostAccount.Key = true })
	file := func(_ *inspect.App, p *inspect.Poller) { p.Links = nil } // no connection has a secret
	principal := both(held("SB__clientSecret"), func(_ *inspect.App, p *inspect.Poller) { p.Links[0].Setting = "SB" })
	unsigned := "pollers__orders__output__secret="
	return []verdictCase{
		{"secrets", nil, nil, CannotTell, "DB, pollers__orders__output__secret"},
		{"secrets", []string{unsigned}, file, OK, "no setting holds a secret"},
		{"secrets", []string{unsigned, "status__token=a token of more than sixteen"}, file, CannotTell, "status__token"},
		{"secrets", []string{unsigned, "OTEL_EXPORTER_OTLP_ENDPOINT=: no URL"}, file, OK, ""},
		{"secrets", nil, held("other"), CannotTell, ""},
		{"secrets", nil, held("DB"), ToMend, "local.settings.json holds DB"},
		{"secrets", nil, held("db"), ToMend, "local.settings.json holds DB"},
		{"secrets", blob, held("AzureWebJobsStorage"), ToMend, "holds AzureWebJobsStorage"},
		{"secrets", []string{"SB__clientSecret=s"}, principal, ToMend, "local.settings.json holds SB__clientSecret"},
		{"secrets", []string{"pollers__orders__output__headers__X_Api_Key=k"},
			held("pollers__orders__output__headers__X_Api_Key"), ToMend, "holds pollers__orders__output__headers__X_Api_Key"},
		{"secrets", []string{"pollers__orders__output__headers__X_Api_Key=%KEY%", "KEY=k"}, held("KEY"), ToMend, "holds KEY"},
		{"secrets", []string{"pollers__orders__outputs__b__kind=http",
			"pollers__orders__outputs__b__url=https://b.example.com/?code=1"}, held("pollers__orders__outputs__b__url"), ToMend, "outputs__b__url"},
		{"secrets", []string{unsigned, "pollers__orders__output__url=https://b.example.com/?api-key=1"},
			held("pollers__orders__output__url"), ToMend, "output__url"},
		{"secrets", []string{unsigned, "pollers__orders__output__url=https://a-token@b.example.com/"},
			both(file, held("pollers__orders__output__url")), ToMend, "output__url"},
		{"secrets", []string{unsigned, "OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example.com/?subscription-key=1"},
			both(file, held("OTEL_EXPORTER_OTLP_ENDPOINT")), ToMend, "OTLP_ENDPOINT"},
		{"secrets", []string{"status__token=a token of more than sixteen"}, held("status__token"), ToMend,
			"holds status__token"},
		{"secrets", []string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=k"}, held("OTEL_EXPORTER_OTLP_HEADERS"), ToMend,
			"holds OTEL_EXPORTER_OTLP_HEADERS"},
		{"secrets", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://a:b@otel.example.com"},
			held("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ToMend, "TRACES_ENDPOINT"},
		{"secrets", nil, both(hostKey, held("AzureWebJobsStorage")), ToMend, "holds AzureWebJobsStorage"},
	}
}
