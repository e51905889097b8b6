package deploy_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

var (
	bicepSetting = regexp.MustCompile(`(?m)^ +([A-Za-z]+_[A-Za-z_]+): (.+)$`)
	sqlSetting   = regexp.MustCompile(`'\$\{c\.name\}(__[A-Za-z]+)', c => (c\.)?([A-Za-z]+)`)
)

// bicepSettings are the app settings that bicep/modules/settings.bicep makes of the parameters of an example, with
// values as Azure and azd's environment would give them.
func bicepSettings(t *testing.T, parametersFile string) map[string]string {
	t.Helper()
	text := testfile.Read(t, "bicep/modules/settings.bicep")
	known := map[string]string{
		"managed": "managedidentity", "clientId": "3f0b1c8e-0000-4000-8000-000000000001", "hostAccount": "strrhost",
		"insightsConnectionString": "InstrumentationKey=0", "stateBlobs": "https://strrsstate.blob.core.windows.net/",
		"stateContainer": "db-state", "stateAppName": "shop", "queueEndpoint": "https://strrsstate.queue.core.windows.net/",
		"serviceBusNamespace": "shop-bus", "eventHubsNamespace": "shop-hubs",
	}
	found := map[string]string{}
	for _, m := range bicepSetting.FindAllStringSubmatch(string(text), -1) {
		value, literal := strings.CutPrefix(m[2], "'")
		if !literal {
			if known[m[2]] == "" {
				t.Fatalf("settings.bicep: the test knows no value for %s", m[2])
			}
			found[m[1]] = known[m[2]]
			continue
		}
		value = strings.TrimSuffix(value, "'")
		for name, v := range known {
			value = strings.ReplaceAll(value, "${"+name+"}", v)
		}
		found[m[1]] = value
	}
	parameters := readParameters(t, parametersFile).Parameters
	for _, c := range parameters["sqlConnections"].Value.([]any) {
		connection := c.(map[string]any)
		for _, m := range sqlSetting.FindAllStringSubmatch(string(text), -1) {
			value := known[m[3]]
			if m[2] != "" {
				value = connection[m[3]].(string)
			}
			found[connection["name"].(string)+m[1]] = value
		}
	}
	for name, value := range parameters["appSettings"].Value.(map[string]any) {
		found[name] = value.(string)
	}
	for name := range parameters["vaultReferences"].Value.(map[string]any) {
		found[name] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" // what Azure puts for the reference
	}
	environment := strings.NewReplacer("${ORDERS_SQL_SERVER}", "sql-shop.database.windows.net", "${ORDERS_SQL_DATABASE}",
		"shop", "${ORDERS_URL}", "https://example.com/hooks/orders")
	for name, value := range found {
		found[name] = environment.Replace(value)
	}
	return found
}

// accepted fails the test with what Rowrelay says to these settings.
func accepted(t *testing.T, settings map[string]string) *config.App {
	t.Helper()
	var environ []string
	for name, value := range settings {
		environ = append(environ, name+"="+value)
	}
	app, err := config.Load(environ)
	if err != nil {
		t.Fatalf("Rowrelay refuses the settings %v: %v", slices.Sorted(maps.Keys(settings)), err)
	}
	return app
}

func TestSettingsOfTheTemplatesAreAccepted(t *testing.T) {
	settings := bicepSettings(t, "bicep/main.parameters.json")
	for i, kind := range []string{"queue", "servicebus", "eventhubs"} { // so that each connection is read
		p := fmt.Sprintf("pollers__poller%d__", i)
		maps.Copy(settings, map[string]string{
			p + "source__connection": "ORDERS_DB", p + "source__table": "dbo.orders", p + "source__cursor": "row_version",
			p + "output__kind": kind, p + "output__connection": map[string]string{"queue": "RowrelayQueues",
				"servicebus": "RowrelayServiceBus", "eventhubs": "RowrelayEventHubs"}[kind],
		})
	}
	app := accepted(t, settings)
	if got := app.State.AppName; got != "shop" {
		t.Errorf("state__app_name is %q", got)
	}
	if got := app.State.Connection.BlobServiceURI; got != "https://strrsstate.blob.core.windows.net/" {
		t.Errorf("the state's account is %q", got)
	}
	db := app.Poller("orders").Source.Connection
	if db.Server != "sql-shop.database.windows.net" || db.Database != "shop" || db.Credential != "managedidentity" ||
		db.ClientID == "" {
		t.Errorf("the database is %+v", db)
	}
}

// TestEveryRoleIsDocumented: a role by its number says nothing to a reader of the templates.
func TestEveryRoleIsDocumented(t *testing.T) {
	readme := testfile.Read(t, "README.md")
	roles := map[string]string{
		"b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
		"ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
		"c6a89b2d-59bc-44d0-9896-0f6e12d7b80a": "Storage Queue Data Message Sender",
		"8a0f0c08-91a1-4084-bc3d-661d67233fed": "Storage Queue Data Message Processor",
		"19e7f393-937e-4f77-808e-94535e297925": "Storage Queue Data Reader",
		"3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
		"4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
		"69a216fc-b8fb-44d8-bc22-1f3c2cd27a39": "Azure Service Bus Data Sender",
		"2b629674-e913-4c01-ae53-ef4638d8f975": "Azure Event Hubs Data Sender",
	}
	number := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	for _, path := range append(glob(t, "bicep/*.bicep", 2), glob(t, "bicep/modules/*.bicep", 8)...) {
		text := testfile.Read(t, path)
		for _, id := range number.FindAllString(string(text), -1) {
			if name := roles[id]; name == "" || !strings.Contains(string(readme), name) {
				t.Errorf("%s gives the role %s (%q), which README.md does not name", path, id, name)
			}
		}
	}
}
