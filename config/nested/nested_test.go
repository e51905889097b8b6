package nested

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/config"
)

const example = `# a comment
state:
  kind: file
defaults:
  source__connection: SHOP_DB
Sql_Trigger_MaxBatchSize: 200
pollers:
  orders:
    source: {table: orders, cursor: "version"}
    batch_size: 0100        # as it stands
    schedule: "*/5 * * * * *"
    output:
      kind: http
      url: '%ORDERS_URL%'
      headers:
        X-Team: yes
        Authorization_FILE: /run/secrets/token
      constants__note: |
        two
        lines
    tick_budget:
status: ~
env:
  SHOP_DB: "sqlite:shop.db"
  BUS: {fullyQualifiedNamespace: shop.servicebus.windows.net}
`

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rowrelay.yaml")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"state__kind=file", "defaults__source__connection=SHOP_DB", "Sql_Trigger_MaxBatchSize=200",
		"pollers__orders__source__table=orders", "pollers__orders__source__cursor=version",
		"pollers__orders__batch_size=0100", "pollers__orders__schedule=*/5 * * * * *",
		"pollers__orders__output__kind=http", "pollers__orders__output__url=%ORDERS_URL%",
		"pollers__orders__output__headers__X-Team=yes",
		"pollers__orders__output__headers__Authorization_FILE=/run/secrets/token",
		"pollers__orders__output__constants__note=two\nlines\n", "pollers__orders__tick_budget=",
		"SHOP_DB=sqlite:shop.db", "BUS__fullyQualifiedNamespace=shop.servicebus.windows.net"}
	if !slices.Equal(list, want) {
		t.Errorf("read\n%q, want\n%q", list, want)
	}
	if _, err := Read(path + ".gone"); err == nil || !strings.Contains(err.Error(), "rowrelay.yaml.gone") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Every fault is told with its line, and no value.
func TestFaultsOfAFile(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f.yaml: is empty"},
		{"# nothing\n", "f.yaml: is empty"},
		{"just a word", "line 1: is no mapping"},
		{"state:\n  kind: file\n---\na: b", "line 3: begins a further document"},
		{"state:\n  kind: file\nSHOP_DB: sqlite:secret.db", "line 3: SHOP_DB is no setting"},
		{"state: secret", "line 1: state is no setting"},
		{"poller:\n  a:\n    batch_size: 1", "line 3: poller__a__batch_size is no setting"},
		{"pollers:\n  a:\n    source__key: [secret, b]", "line 3: pollers__a__source__key is a list"},
		{"pollers:\n  - a:\n      batch_size: 1", "pollers is a list. Leave the hyphens out"},
		{"state: {kind: file}\nSTATE__kind: blob", "line 2: STATE__kind is set a second time (before: line 1)"},
		{"env:\n  A: x\n  a: y", "line 3: a is set a second time (before: line 2)"},
		{"state: &x {kind: file}", "line 1: state has an anchor or refers to one"},
		{"state:\n  kind: &x file\n  path: *x", "line 3: state__path has an anchor or refers to one"},
		{"state:\n  kind: !!str secret", "line 2: state__kind has a tag"},
		{"? [a, b]\n: c", "line 1: holds something that is no name"},
		{"state:\n\tkind: secret", "is no YAML, there or just below"},
		{"state:\n  kind: secret: x", "is no YAML, there or just below"},
		{"state:\n  kind: \"secret", "is no YAML, there or just below"},
		{"state:\n  kind: file\npollers:\n  a:\n    output__url: %SECRET%\n",
			"line 5: has a value that begins with a percent sign"},
		{"state:\n  path: *secret", "is no YAML"},
		{"state: {kind: file}\n---\n\tsecret", "is no YAML"},
		{"state: {kind: file}\nenv: {a: \xff\xfe}", "is no YAML"},
	} {
		_, faults := parse("f.yaml", []byte(c.text))
		err := faults.Err()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	// All are said at once.
	if _, faults := parse("f.yaml", []byte("a: 1\nb: 2\nstate: {kind: [x]}")); len(faults) != 3 {
		t.Errorf("%d faults, want 3: %v", len(faults), faults)
	}
}

// What was read is written so that it is read again: nested, in an order for people, plain where that can be.
func TestFormat(t *testing.T) {
	list, faults := parse("f.yaml", []byte(example))
	if faults != nil {
		t.Fatal(faults)
	}
	data, err := Format(list)
	if err != nil {
		t.Fatal(err)
	}
	want := `state:
  kind: file
Sql_Trigger_MaxBatchSize: 200
defaults:
  source:
    connection: SHOP_DB
pollers:
  orders:
    batch_size: 0100
    output:
      constants:
        note: "two\nlines\n"
      headers:
        Authorization_FILE: /run/secrets/token
        X-Team: yes
      kind: http
      url: "%ORDERS_URL%"
    schedule: "*/5 * * * * *"
    source:
      cursor: version
      table: orders
    tick_budget: ""
env:
  BUS__fullyQualifiedNamespace: shop.servicebus.windows.net
  SHOP_DB: sqlite:shop.db
`
	if string(data) != want {
		t.Errorf("written\n%s, want\n%s", data, want)
	}
	for _, bad := range [][]string{{"STATE__KIND=file", "state__kind=blob"}, {"A=\xff"}, {"=x"}} {
		if _, err := Format(bad); err == nil {
			t.Errorf("%q is written", bad)
		}
	}
}

// FuzzRoundTrip: settings that were written are read as they were.
func FuzzRoundTrip(f *testing.F) {
	for _, value := range []string{"", "~", "null", "0x10", "yes", "a: b", "a #b", "#b", "- x", "'", `"`, "\t", " x ",
		"\n", "a\r\nb", "%A%", "*x", "&x", "!!str x", "|", ">", "{", "}", "[a]", "<<", "=", "é\u2028\u0085x", "\x00",
		"\ufeff", "---", "...", "?", "? x",
		":", "x:", "@", "`", strings.Repeat("long ", 60)} {
		f.Add("pollers__a__source__table", value, "A", value)
		f.Add("pollers__a__output__headers__"+value, "x", value, "pollers__a__source__table")
		f.Add("pollers__a", value, "pollers__a__b__c", value)
	}
	f.Fuzz(func(t *testing.T, nameA, a, nameB, b string) {
		if strings.Contains(nameA+nameB, "=") {
			t.Skip("no name of a variable")
		}
		list := []string{nameA + "=" + a, nameB + "=" + b}
		data, err := Format(list)
		if err != nil {
			return // it is said which name is at fault
		}
		back, faults := parse("f.yaml", data)
		slices.Sort(back)
		slices.Sort(list)
		if faults != nil || !slices.Equal(back, list) {
			t.Errorf("%q are written as\n%s\nand read as %q: %v", list, data, back, faults)
		}
	})
}

// A file that is used is a configuration.
func TestLoadOfAFile(t *testing.T) {
	list, faults := parse("f.yaml", []byte(example))
	if faults != nil {
		t.Fatal(faults)
	}
	app, _ := config.Load(config.Merge([]string{"POLLERS__orders__batch_size=7"}, list))
	if len(app.Pollers) != 1 || app.Pollers[0].Name != "orders" || app.Pollers[0].BatchSize != 7 || len(app.Faults) > 0 {
		t.Errorf("%+v", app.Pollers)
	}
}
