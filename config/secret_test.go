package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// planted stands in every setting that may hold a secret. It is base64, so that it passes as a signing secret.
const planted = "SWhhdmVQbGFudGVkVGhpc1NlY3JldEhlcmVGb3JZb3U="

func TestPlantedSecretsStayHidden(t *testing.T) {
	whole := func(list ...string) []string {
		return append(list, "state__kind=blob", "state__connection=STORE",
			"pollers__orders__source__connection=DB", "pollers__orders__source__table=orders",
			"pollers__orders__source__cursor=id",
			"pollers__orders__output__kind=http", "pollers__orders__outputs__q__kind=queue",
			"pollers__orders__outputs__q__connection=QUEUES")
	}
	cases := map[string][]string{
		"everything right": whole("status__token="+planted, "status__listen=0.0.0.0:1",
			"STORE=AccountName=a;AccountKey="+planted, "DB=sqlserver://sa:"+planted+"@host",
			"QUEUES__queueServiceUri=https://a.queue.core.windows.net",
			"QUEUES__tenantId=t", "QUEUES__clientId=c", "QUEUES__clientSecret="+planted,
			"pollers__orders__output__url=https://user:"+planted+"@example.com/hook?code="+planted,
			"pollers__orders__output__headers__Authorization=Bearer "+planted, "pollers__orders__output__secret=whsec_"+planted),
		"everything wrong": whole("status__token=%%%"+planted+"%", "STORE="+planted, "DB=@Microsoft.KeyVault("+planted+")",
			"QUEUES__serviceUri=https://x/?sig="+planted, "QUEUES__credential="+planted, "QUEUES__clientSecret="+planted,
			"pollers__orders__output__url="+planted, "pollers__orders__output__headers__X=a\n"+planted,
			"pollers__orders__output__secret=x"+planted, "pollers__orders__poll_interval_may="+planted,
			"pollers__orders__secret="+planted),
		"brokers, right": whole("AzureWebJobsSTORE=UseDevelopmentStorage=true", "DB=sqlite:a",
			"pollers__orders__outputs__q__kind=stdout", "QUEUES=x",
			"pollers__orders__output__url=http://localhost/{key}?k="+planted, "pollers__orders__output__auth=oauth2",
			"pollers__orders__output__auth_token_url=https://t/?k="+planted, "pollers__orders__output__auth_client_id=c",
			"pollers__orders__output__auth_client_secret="+planted, "pollers__orders__output__client_certificate="+planted,
			"pollers__b__source__connection=DB", "pollers__b__source__table=b",
			"pollers__b__source__mode=outbox",
			"pollers__b__output__kind=rabbitmq", "pollers__b__output__connection=R", "R=amqps://u:"+planted+"@h/",
			"pollers__c__source__connection=DB",
			"pollers__c__source__table=c", "pollers__c__source__cursor=id", "pollers__c__output__kind=servicebus",
			"pollers__c__output__connection=S",
			"S=Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey="+planted, "pollers__c__outputs__h__kind=eventhubs",
			"pollers__c__outputs__h__connection=H",
			"H__fullyQualifiedNamespace=h.servicebus.windows.net", "H__tenantId=t", "H__clientId=c", "H__clientSecret="+planted,
			"pollers__c__outputs__k__kind=kafka", "pollers__c__outputs__k__connection=K", "K=kafka://u:"+planted+"@k",
			"pollers__c__outputs__t__kind=sql", "pollers__c__outputs__t__connection=T", "pollers__c__outputs__t__table=t",
			"T=postgres://u:"+planted+"@h/db"),
		"brokers, wrong": whole("AzureWebJobsSTORE=UseDevelopmentStorage=true", "DB=sqlite:a",
			"QUEUES=UseDevelopmentStorage=true",
			"pollers__orders__output__url=http://localhost/", "pollers__b__source__connection=DB", "pollers__b__source__table=b",
			"pollers__b__source__mode=outbox",
			"pollers__b__source__fanout_connection=amqps://u:"+planted+"@h/",
			"pollers__b__output__kind=rabbitmq", "pollers__b__output__connection=R", "R=http://u:"+planted+"@h/",
			"pollers__c__source__connection=DB",
			"pollers__c__source__table=c", "pollers__c__source__cursor=id", "pollers__c__output__kind=servicebus",
			"pollers__c__output__connection=S",
			"S=Endpoint=sb://x/;SharedAccessKey="+planted, "pollers__c__outputs__h__kind=eventhubs",
			"pollers__c__outputs__h__connection=H",
			"H__fullyQualifiedNamespace=https://h/"+planted, "H__clientSecret="+planted,
			"pollers__c__outputs__k__kind=kafka", "pollers__c__outputs__k__connection=kafka://u:"+planted+"@k",
			"pollers__c__outputs__l__kind=kafka", "pollers__c__outputs__l__connection=L", "L="+planted),
		"strings where names belong": whole("state__connection_=x",
			"pollers__b__source__connection=postgres://u:"+planted+"@h/d",
			"pollers__b__output__kind=queue", "pollers__b__output__connection=AccountName=a;AccountKey="+planted,
			"pollers__b__output__url=http://\x7f"+planted),
		"through another variable": whole("pollers__orders__output__url=%P%", "pollers__orders__batch_size=%P%",
			"pollers__orders__schedule=%%%P%%%",
			"pollers__orders__source__cursor=%P%,%P%", "pollers__orders__output__headers__X=%"+planted+"%", "log__level=%P%",
			"pollers__orders__source__time_zone=%P%", "state__container=%P%", "P="+planted+"@Microsoft.KeyVault("),
		"through another variable, plainly": whole("pollers__orders__output__url=%P%", "pollers__orders__batch_size=%P%",
			"pollers__orders__schedule=",
			"pollers__orders__source__key=%P%,%P%", "log__level=%P%", "pollers__orders__source__time_zone=%P%",
			"state__container=%P%",
			"status__listen=%P%", "state__app_name=%P%", "state__connection=%P%", "pollers__orders__lease_ttl=%P%",
			"pollers__orders__ordering=%P%", "P="+planted),
	}
	for name, list := range cases {
		app, err := Load(list)
		shown := []string{fmt.Sprint(err), fmt.Sprintf("%v %+v %#v", *app, *app, *app), app.AllWarnings().Error()}
		for _, p := range app.Pollers {
			for _, format := range []string{"%v", "%+v", "%#v", "%d", "%x", "%s", "%q"} {
				shown = append(shown, fmt.Sprintf(format, *p))
			}
		}
		data, jerr := json.Marshal(app)
		if jerr != nil {
			t.Fatal(jerr)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "app", app, "state", app.State)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "app", app)
		shown = append(shown, string(data), log.String())
		hex := fmt.Sprintf("%x", planted)
		for _, s := range shown {
			if strings.Contains(s, planted) || strings.Contains(s, hex) {
				t.Errorf("%s: the secret shows in %.3000s", name, s)
			}
		}
		switch name {
		case "brokers, right":
			if err != nil {
				t.Error(err)
			}
			if got := app.Poller("b").Outputs[0].Broker.ConnectionString.Reveal(); got != "amqps://u:"+planted+"@h/" {
				t.Errorf("Reveal %q", got)
			}
		case "everything right":
			if err != nil {
				t.Error(err)
			}
			if got := app.Poller("orders").Outputs[0].Headers["Authorization"].Reveal(); got != "Bearer "+planted {
				t.Errorf("Reveal %q", got)
			}
		default:
			if err == nil {
				t.Errorf("%s: no fault", name)
			}
		}
	}
}

func TestSecretVerbs(t *testing.T) {
	for _, c := range []struct{ format, want string }{
		{"%v", "«redacted»"}, {"%s", "«redacted»"}, {"%d", "«redacted»"}, {"%x", "«redacted»"}, {"%q", `"«redacted»"`},
		{"%+v", "«redacted»"}, {"%#v", `config.Secret("«redacted»")`},
	} {
		if got := fmt.Sprintf(c.format, Secret("hunter2")); got != c.want {
			t.Errorf("%s: %s", c.format, got)
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", Secret("hunter2"), "a", Address("https://h/?k=hunter2"))
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", Secret("hunter2"), "a", Address("https://h/?k=hunter2"))
	if strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), `"s":"«redacted»","a":"https://h/"`) {
		t.Error(log.String())
	}
	if got := fmt.Sprintf("%v%s", Secret(""), Address("")); got != "" {
		t.Errorf("empty ones print %q", got)
	}
	if got := Address("https://u:p@h.example:8/a/b?c=d#e").String(); got != "https://h.example:8/a/b" {
		t.Errorf("address %s", got)
	}
	if got := Address("no url %zz").String(); got != redacted {
		t.Errorf("address %s", got)
	}
}
