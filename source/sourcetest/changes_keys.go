package sourcetest

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// RunChanges runs the suite of a source that reads what triggers, or the engine itself, recorded.
func RunChanges(t *testing.T, e Engine) {
	for _, c := range []struct {
		name string
		test func(fixture)
	}{
		{"single_operations", singleOperations}, {"net_change", netChange}, {"pages", changePages},
		{"key_change", keyChange}, {"rolled_back", rolledBack}, {"two_pollers", twoPollers},
		{"writes", writes}, {"refused_tables", refusedTables}, {"gaps", changeGaps}, {"retention", retained},
		{"composite_keys", compositeKeys}, {"key_types", keyTypes}, {"recased", recased}, {"status", statusOf},
		{"foreign_tables", foreignTables}, {"unseen_writes", unseenWrites}, {"one_moment", oneMoment},
		{"odd_tables", oddTables}, {"odd_columns", oddColumns}, {"operations", operations}, {"only_inserts", onlyInserts},
		{"where_of_changes", whereOfChanges}, {"changes_few", changesFew}, {"reread_changes", rereadChanges},
		{"whole_table", wholeTable}, {"whole_ids", wholeIDs}, {"whole_composite", wholeComposite},
		{"whole_of_inserts", wholeOfInserts}, {"whole_broken", wholeBroken}, {"whole_of_nothing", wholeOfNothing},
		{"every_change", everyChange}, {"every_late", everyLate}, {"every_chosen", everyChosen},
		{"every_column", everyColumn}, {"every_gap", everyGap}, {"every_purging", everyPurging}, {"every_type", everyType},
		{"every_odd", everyOdd}, {"every_whole", everyWhole}, {"every_before", everyBefore},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e.Name == "sqlserver" && strings.HasPrefix(c.name, "every_") {
				t.Skip("SQL Server's own tracking has the last change of each key")
			}
			c.test(fixture{t, e})
		})
	}
}

// compositeKeys has a key in another order than the table's columns, with text in it that wants quoting.
func compositeKeys(f fixture) {
	odd := f.e.Quote("Order [x] `y` \"q\" 'é' select")
	name := f.e.Quote("User")
	f.exec("CREATE TABLE " + name + " (v " + f.e.BigInt + ", id " + f.e.BigInt + " NOT NULL, " + odd + " " + f.e.Text +
		" NOT NULL, PRIMARY KEY (" + odd + ", id))")
	f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE " + name) })
	f.track(`"User"`)
	r := f.reader(plan.Config{Table: `"User"`})
	f.exec("INSERT INTO "+name+" VALUES (1, 1, 'a'), (2, 2, 'a'), (3, 1, 'it''s')", "DELETE FROM "+name+" WHERE v = 2")
	events := r.read(1)
	if len(events) != 3 {
		f.Fatalf("%d events", len(events))
	}
	column := `{"Order [x] ` + "`y`" + ` \"q\" 'é' select":`
	f.same("keys", keys(events), column+`"a","id":1} `+column+`"it's","id":1} `+column+`"a","id":2}`)
	f.same("a row", string(events[1].Row), `{"v":3,"id":1,"Order [x] `+"`y`"+` \"q\" 'é' select":"it's"}`)
	f.same("a delete", string(events[2].Row), string(events[2].Key))
	f.untrack(`"User"`)
}

// keyTypes has keys of every type that can be one: a change comes with the key that its row has, and is found again by
// it.
func keyTypes(f fixture) {
	for typ, values := range map[string]map[string]string{
		"postgres": {"uuid": "'6f9619ff-8b86-d011-b42d-00c04fc964ff'", "text": "'é'", "text COLLATE \"C\"": "'a'",
			"numeric(12,3)": "1.500",
			"timestamptz":   "'2026-04-07 01:23:45.123456+00'", "timestamp": "'2026-04-07 01:23:45.123456'",
			"date":  "'2026-04-07'",
			"bytea": `'\x00ff'`, "char(5)": "'ab'", "bool": "true", "int2": "-3", "inet": "'10.0.0.1/8'", "bigint": "9007199254740993"},
		"sqlite": {"integer": "9007199254740993", "text": "'é'", "text COLLATE NOCASE": "'Ab'", "varchar(10)": "'x'",
			"blob":    "x'00ff'",
			"numeric": "1.5", "datetime": "'2026-04-07 01:23:45'", "uuid": "'6f9619ff-8b86-d011-b42d-00c04fc964ff'",
			"boolean": "1"},
		"mysql": {"bigint unsigned": "18446744073709551615", "varchar(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin": "'é'",
			"varchar(50) CHARACTER SET latin1": "'Ab'", "decimal(12,3)": "1.5", "datetime(6)": "'2026-04-07 01:23:45.123456'",
			"timestamp(3)": "'2026-04-07 01:23:45.123'", "date": "'2026-04-07'", "varbinary(9)": "x'00ff'", "char(5)": "'ab'",
			"binary(3)": "x'0102'", "time(3)": "'01:02:03.123'", "bit(9)": "b'101'"},
		"sqlserver": {
			"bigint": "9007199254740993", "int": "-3", "decimal(12,3)": "1.5", "money": "1.5", "bit": "1",
			"uniqueidentifier": "'6f9619ff-8b86-d011-b42d-00c04fc964ff'", "nvarchar(50)": "N'é'",
			"varchar(50) COLLATE Latin1_General_BIN2": "'Ab'", "nchar(5)": "N'ab'", "char(5)": "'ab'",
			"date": "'2026-04-07'", "datetime": "'2026-04-07T01:23:45.187'", "datetime2(7)": "'2026-04-07T01:23:45.1234567'",
			"datetimeoffset(7)": "'2026-04-07T03:23:45.1234567+02:00'", "time(3)": "'01:02:03.123'", "varbinary(9)": "0x00ff",
			"binary(3)": "0x010203"},
	}[f.e.Name] {
		f.Run(typ, func(t *testing.T) {
			f := fixture{t, f.e}
			f.exec("CREATE TABLE k (k " + typ + " NOT NULL PRIMARY KEY, v bigint)")
			f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE k") })
			f.track("k")
			defer f.untrack("k")
			r := f.reader(plan.Config{Table: "k"})
			f.exec("INSERT INTO k VALUES ("+values+", 1)", "UPDATE k SET v = 2")
			p := f.page(r.src, r.at, poller.Limit{Rows: 10, Bytes: plenty})
			if len(p.Events) != 1 || !strings.Contains(string(p.Events[0].Row), `"v":2`) {
				f.Fatalf("events: %+v", p.Events)
			}
			first := p.Events[0]
			if !strings.HasPrefix(string(first.Row), strings.TrimSuffix(string(first.Key), "}")) {
				f.Errorf("the key is %s, and the row %s", first.Key, first.Row)
			}
			again, err := r.src.Reread(f.ctx(), [][]byte{first.Key})
			if err != nil || len(again) != 1 || again[0].ID != first.ID {
				f.Fatalf("read again: %+v, %v", again, err)
			}
			r.read(10)
			chunk := r.whole(1, nothing)
			if len(chunk) != 1 || chunk[0].ID != first.ID || string(chunk[0].Row) != string(first.Row) {
				f.Fatalf("in the table: %+v", chunk)
			}
			after := change.Range{After: chunk[0].Position(), UpTo: chunk[0].Position()}
			if p, err := r.src.Fetch(f.ctx(), after, poller.Limit{Rows: 1, Bytes: plenty}); err != nil || len(p.Events) > 0 {
				f.Fatalf("after its row: %+v, %v", p.Events, err)
			}
			f.exec("DELETE FROM k")
			gone := r.read(10)
			if len(gone) != 1 || gone[0].Op.String() != "delete" || string(gone[0].Key) != string(first.Key) {
				f.Fatalf("the delete: %+v", gone)
			}
		})
	}
}

// recased changes a key to one that its collation holds equal: that is no other key.
func recased(f fixture) {
	typ := map[string]string{"sqlite": "text COLLATE NOCASE", "sqlserver": "varchar(50) COLLATE Latin1_General_CI_AS",
		"mysql":    "varchar(50) COLLATE utf8mb4_general_ci",
		"postgres": "text COLLATE caseless"}[f.e.Name]
	if f.e.Name == "postgres" {
		f.exec("CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
	}
	f.exec("CREATE TABLE folded (k " + typ + " NOT NULL PRIMARY KEY, v bigint)")
	f.track("folded")
	f.exec("INSERT INTO folded VALUES ('Anna', 1)")
	r := f.reader(plan.Config{Table: "folded", Start: "latest"})
	f.exec("UPDATE folded SET k = 'ANNA'")
	events := r.read(10)
	if len(events) != 1 {
		f.Fatalf("%d events", len(events))
	}
	op := "update "
	if f.e.Name == "sqlserver" { // it takes every change of a key for a delete and an insert
		op = events[0].Op.String() + " "
	}
	f.same("the row", op+string(events[0].Key)+" "+string(events[0].Row), op+`{"k":"ANNA"} {"k":"ANNA","v":1}`)
	f.untrack("folded")
}

// statusOf tells what is there, before, while and after.
func statusOf(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	conn, err := engines.Parse(f.e.URL)
	if err != nil {
		f.Fatal(err)
	}
	look := func() tracking.Status {
		f.Helper()
		s, err := tracking.Look(f.ctx(), conn, name, "", "orders", tracking.Writes{})
		if err != nil {
			f.Fatal(err)
		}
		return s
	}
	if s := look(); s.Installed {
		f.Errorf("before: %+v", s)
	}
	f.track(name)
	f.track(name) // the same again
	f.insert(name, 1, 5, 1)
	f.exec("DELETE FROM " + name + " WHERE id > 3")
	changes := "rowrelay_changes_" + name
	if f.e.Name == "sqlserver" {
		changes = ""
	}
	if s := look(); !s.Installed || s.Rows != 5 || s.Deleted != 2 || len(s.Faults) > 0 || s.Floor == "" ||
		s.Oldest == "" ||
		s.Newest == "" || s.Changes != changes {
		f.Errorf("installed: %+v", s)
	}
	f.exec("DROP TABLE " + name)
	if f.e.Name != "sqlserver" {
		f.untrack(name) // what is left of a table that is gone
	}
	f.exec("CREATE TABLE " + name + " (id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL)")
	if s := look(); s.Installed {
		f.Errorf("after: %+v", s)
	}
}
