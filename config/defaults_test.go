package config_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestDefaults: a default is as good as the poller's own setting, which wins, also where it is empty.
func TestDefaults(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	testfile.Write(t, secret, "whsec_"+strings.Repeat("YWFh", 10))
	app, err := config.Load([]string{"DB=sqlite:x.db", "OTHER=sqlite:y.db", "state__kind=file",
		"defaults__source__connection=DB", "DEFAULTS__SOURCE__CURSOR=id", "defaults__tick_budget=7s",
		"defaults__lease_ttl=9s",
		"defaults__output__kind=http", "defaults__output__url=https://e.com/{poller}", "defaults__output__batch=50",
		"defaults__output__headers__X_Key=planted", "defaults__output__secret_FILE=" + secret,
		"pollers__a__source__table=a",
		"pollers__b__source__table=b", "pollers__b__source__connection=OTHER", "pollers__b__tick_budget=",
		"pollers__b__output__batch=1",
		"pollers__b__output__headers__X_Key=", "pollers__b__output__url=https://e.com/b",
		"pollers__c__source__table=c", "pollers__c__source__mode=outbox", "pollers__c__output__kind=stdout",
		"pollers__d__source__table=d", "pollers__d__outputs__more__kind=stdout"})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c, d := app.Poller("a"), app.Poller("b"), app.Poller("c"), app.Poller("d")
	if a.Source.ConnectionSetting != "DB" || a.Source.Cursor[0] != "id" || a.TickBudget != 7*time.Second ||
		a.LeaseTTL != 9*time.Second ||
		a.Outputs[0].Batch != 1 || a.Outputs[0].Headers["X-Key"].Reveal() != "planted" || a.Outputs[0].Secret == "" {
		t.Errorf("%+v", a)
	}
	if b.Source.ConnectionSetting != "OTHER" || b.TickBudget != 50*time.Second || len(b.Outputs[0].Headers) != 0 ||
		b.Outputs[0].URL.Reveal() != "https://e.com/b" {
		t.Errorf("%+v", b)
	}
	if len(c.Source.Cursor) != 0 || c.LeaseTTL != 0 || c.Outputs[0].Kind != "stdout" || len(c.Warnings) != 0 {
		t.Errorf("%+v", c)
	}
	if len(d.Outputs) != 2 || d.Outputs[0].Kind != "http" || d.Outputs[1].Name != "more" || d.Outputs[1].Kind != "stdout" {
		t.Errorf("%+v", d.Outputs)
	}
	if name := a.Setting("output__url"); name != "defaults__output__url" {
		t.Error(name)
	}
	if name := b.Setting("output__url"); name != "pollers__b__output__url" {
		t.Error(name)
	}
}

// TestDefaultsOfTheOutput: without their kind they are for pollers that have a default output.
func TestDefaultsOfTheOutput(t *testing.T) {
	app, err := config.Load([]string{"DB=sqlite:x.db", "state__kind=file", "defaults__source__connection=DB",
		"defaults__source__cursor=id", "defaults__output__format=row", "pollers__a__source__table=a",
		"pollers__a__output__kind=stdout",
		"pollers__b__source__table=b", "pollers__b__outputs__more__kind=stdout"})
	if err != nil {
		t.Fatal(err)
	}
	if b := app.Poller("b"); len(b.Outputs) != 1 || b.Outputs[0].Format != "cloudevents" ||
		app.Poller("a").Outputs[0].Format != "row" {
		t.Errorf("%+v", b.Outputs)
	}
}

// TestDefaultsAtFault: each fault names the default, once.
func TestDefaultsAtFault(t *testing.T) {
	base := []string{"DB=sqlite:x.db", "state__kind=file", "defaults__source__connection=DB",
		"defaults__source__cursor=id",
		"defaults__output__kind=stdout", "pollers__a__source__table=a", "pollers__b__source__table=b"}
	for setting, want := range map[string]string{
		"defaults__batchsize=5":                 "defaults__batchsize: is not a setting. Did you mean",
		"defaults__batch_size=many":             "defaults__batch_size: ",
		"defaults__outputs__more__kind=stdout":  "is of a further output, which not every poller has",
		"DEFAULTS__SOURCE__CURSOR=other":        "both are set",
		"defaults__output__headers__X=a\nplant": "defaults__output__headers__X: ",
	} {
		_, err := config.Load(append(base[:len(base):len(base)], setting))
		if err == nil || strings.Count(err.Error(), want) != 1 || strings.Contains(err.Error(), "plant") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
