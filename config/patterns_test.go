package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// A pattern is by schema and name, without regard to case; what is excluded is excluded wherever it stands.
func TestPatternsMatch(t *testing.T) {
	for pattern, want := range map[string]string{
		"sales.*":                     "sales.orders sales.Order Lines sales.tmp_a",
		"SALES.or?er*":                "sales.orders sales.Order Lines",
		"*":                           "public.people",
		"people":                      "public.people",
		"*.*":                         "sales.orders sales.Order Lines sales.tmp_a public.people archive.orders",
		"!sales.tmp_*, sales.*":       "sales.orders sales.Order Lines",
		"sales.orders, archive.*":     "sales.orders archive.orders",
		"*.*, !people, !archive.*":    "sales.orders sales.Order Lines sales.tmp_a",
		"sales.ord.rs, sales.o(.*)":   "",
		"sales.*, !*.*":               "",
		" sales . orders , *.people ": "sales.orders public.people",
	} {
		m, problem := parseMatching(pattern)
		var got []string
		for _, full := range []string{"sales.orders", "sales.Order Lines", "sales.tmp_a", "public.people", "archive.orders"} {
			schema, name, _ := strings.Cut(full, ".")
			if m.Match(schema, name, schema == "public") {
				got = append(got, full)
			}
		}
		if strings.Join(got, " ") != want || problem != "" {
			t.Errorf("%s means %q, want %s: %s", pattern, got, want, problem)
		}
	}
	for _, bad := range []string{"!a", "a,,b", ".a", "a.", `"a".b`, "[a]", "!", "a!b"} {
		if _, problem := parseMatching(bad); problem == "" {
			t.Errorf("%s is taken", bad)
		}
	}
}

func patternSettings(more ...string) []string {
	return append([]string{"DB=sqlite:shop.db", "state__kind=file", "defaults__output__kind=stdout",
		"pollers__sales__source__connection=DB", "Pollers__sales__source__tables=sales.*",
		"pollers__sales__source__cursor=id", "pollers__sales__output__constants__By=x", "POLLERS__SALES__batch_size=7",
		"pollers__sales_orders__batch_size=9", "pollers__other__source__connection=DB",
		"pollers__other__source__table=other", "pollers__other__source__cursor=id"}, more...)
}

func tablesOf(names ...string) func(*Poller) (Found, error) {
	return func(*Poller) (found Found, err error) {
		for _, name := range names {
			schema, table, _ := strings.Cut(name, ".")
			found.Tables = append(found.Tables, Table{Schema: schema, Name: table, Written: name})
		}
		return found, nil
	}
}

// Each table has a poller, with all settings of the one that stands for it but those that it has itself.
func TestTablesBecomePollers(t *testing.T) {
	app, expanded := LoadTables(patternSettings(), tablesOf("sales.orders", "sales.Order Lines", "sales.100%"))
	var got []string
	for _, p := range app.Pollers {
		if len(p.Faults) > 0 {
			t.Errorf("%s: %v", p.Name, p.Faults)
		}
		got = append(got, p.Name+" "+p.Source.Table)
		if by := p.Outputs[0].Constants; p.Name != "other" && len(by) != 1 {
			t.Errorf("%s has the constants %q", p.Name, by)
		}
	}
	want := []string{"other other", "sales_100 sales.100%", "sales_order_lines sales.Order Lines",
		"sales_orders sales.orders"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if app.Pollers[2].BatchSize != 7 || app.Pollers[3].BatchSize != 9 {
		t.Errorf("batch sizes %d and %d", app.Pollers[2].BatchSize, app.Pollers[3].BatchSize)
	}
	again, err := Load(expanded)
	if err != nil || len(again.Pollers) != 4 {
		t.Errorf("the environment that is returned: %v", err)
	}
}

// A setting whose value is in a file is one like another: a table's own wins over it, and the pattern may stand in one.
func TestTablesWithFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	testfile.Write(t, file, "sales.*")
	app, _ := LoadTables([]string{"DB=sqlite:shop.db", "state__kind=file", "pollers__s__source__connection=DB",
		"pollers__s__source__tables_FILE=" + file, "pollers__s__source__cursor=id", "pollers__s__output__kind=stdout",
		"pollers__s__source__where_FILE=" + file, "pollers__s_orders__source__where=id > 0"},
		tablesOf("sales.orders", "sales.x"))
	if len(app.Pollers) != 2 || app.Pollers[0].Source.Where != "id > 0" || app.Pollers[1].Source.Where != "sales.*" {
		t.Errorf("%+v", app.Pollers)
	}
	if faults := app.AllFaults(); len(faults) > 0 {
		t.Error(faults)
	}
}

// What cannot have a poller is left out, with the reason; a table that is made later takes nobody's place.
func TestTablesWithoutPollers(t *testing.T) {
	long := "sales." + strings.Repeat("x", 60)
	for _, c := range []struct{ tables, pollers, out string }{
		{"sales.orders sales.Orders", "sales_orders=sales.orders", "sales.Orders (another table's poller"},
		{"sales.Orders sales.ORDERS", "", "means no table"},
		{"sales.orders sales.** " + long, "sales_orders=sales.orders", "leaves out 2 of the tables"},
	} {
		app, _ := LoadTables(patternSettings(), tablesOf(strings.Fields(c.tables)...))
		var got []string
		said := app.Warnings.Error()
		for _, p := range app.Pollers {
			if said += p.Faults.Error(); strings.HasPrefix(p.Name, "sales") && p.Source.Table != "" {
				got = append(got, p.Name+"="+p.Source.Table)
			}
		}
		if strings.Join(got, " ") != c.pollers || !strings.Contains(said, c.out) {
			t.Errorf("%s: %q, and %s", c.tables, got, said)
		}
	}
	// Of several schemas each poller is called by its own.
	app, _ := LoadTables(patternSettings("pollers__all__source__connection=DB", "pollers__all__source__tables=*.orders",
		"pollers__all__source__cursor=id"), tablesOf("a.orders", "b.orders"))
	for i, want := range []string{"all_a_orders", "all_b_orders"} {
		if app.Pollers[i].Name != want {
			t.Errorf("%s, want %s", app.Pollers[i].Name, want)
		}
	}
}

// Two patterns, or a pattern and a poller, may give two tables one name. The second table was watched by nobody,
// without a word.
func TestTablesOfOneName(t *testing.T) {
	find := func(p *Poller) (Found, error) {
		return tablesOf(map[string][]string{"shop": {"main.a_b", "main.c", "main.d"}, "shop_a": {"main.b"}}[p.Name]...)(p)
	}
	var list []string
	for _, name := range []string{"shop", "shop_a", "shop_c"} {
		list = append(list, "pollers__"+name+"__source__connection=DB", "pollers__"+name+"__source__cursor=id",
			"pollers__"+name+"__output__kind=stdout")
	}
	list = append(list, "DB=sqlite:shop.db", "state__kind=file", "pollers__shop__source__tables=*",
		"pollers__shop_a__source__tables=b", "pollers__shop_c__source__table=archive",
		"pollers__shop_d__source__table=D")
	app, _ := LoadTables(list, find)
	var got []string
	for _, p := range app.Pollers {
		got = append(got, p.Name+"="+p.Source.Table)
	}
	if want := []string{"shop_a_b=main.b", "shop_c=archive", "shop_d=D"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	said := app.AllFaults().Error() + app.Warnings.Error()
	for _, want := range []string{
		"main.a_b (its poller would be shop_a_b, which pollers__shop_a__source__tables describes)",
		"main.c (its poller would be shop_c, which pollers__shop_c__source__table describes)",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said: %s", want, said)
		}
	}
}

// A poller that cannot be made into others says why, and hinders none beside it.
func TestTablesAtFault(t *testing.T) {
	gone := func(*Poller) (Found, error) { return Found{}, errors.New("no database") }
	for setting, want := range map[string]string{
		"":                                    "its tables cannot be listed: no database",
		"pollers__sales__source__table=x":     "Pollers__sales__source__tables: is set, and so is pollers__sales__source__table",
		"pollers__sales__concurrency=x":       "pollers__sales__concurrency: ",
		"pollers__sales__source__mode=outbox": "Pollers__sales__source__tables: has no effect with source__mode=outbox",
	} {
		app, _ := LoadTables(patternSettings(setting), gone)
		var sales, other Faults
		for _, p := range app.Pollers {
			switch p.Name {
			case "sales":
				sales = p.Faults
			case "other":
				other = p.Faults
			}
		}
		if !strings.Contains(sales.Error(), want) || len(other) > 0 {
			t.Errorf("%s: %v, and beside it %v", setting, sales, other)
		}
	}
	// Settings of a table that is not there are told, and are no poller.
	app, _ := LoadTables(patternSettings(), tablesOf("sales.items"))
	if len(app.Pollers) != 2 || app.Pollers[1].Name != "sales_items" ||
		!strings.Contains(app.Warnings.Error(), "pollers__sales_orders: is for a table that Pollers__sales__source__tables does not") {
		t.Errorf("%v, %v", app.Pollers, app.Warnings)
	}
	// Where nobody lists tables, as under the Functions host, it is said what to do.
	app, err := Load(slices.DeleteFunc(patternSettings(), func(s string) bool {
		return strings.HasPrefix(s, "pollers__sales_orders")
	}))
	if err == nil || !strings.Contains(err.Error(), "rowrelay config to-env --tables --json") || len(app.Faults) > 0 {
		t.Error(err)
	}
	_, err = Load([]string{"defaults__source__tables=x.*", "pollers__a__source__cursor=id"})
	if err == nil || !strings.Contains(err.Error(), "would make each poller one of many tables") {
		t.Error(err)
	}
}
