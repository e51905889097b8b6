package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// mysqlConn returns a connection to a database of the test's own, as the framework prepares it, and a writer beside it.
func mysqlConn(t *testing.T) (*sql.Conn, *sql.DB, life) {
	t.Helper()
	url := testenv.MySQL(t)
	c, err := ParseConnection(url)
	if err != nil {
		t.Fatal(err)
	}
	pool := c.DB(2)
	writer, err := sql.Open("mysql", testenv.MySQLDSN(t, url))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, err := range []error{conn.Close(), pool.Close(), writer.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	l, err := mySQL{}.ready(t.Context(), conn, &Config{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return conn, writer, l
}

func mustExec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // back to the pool
	for _, s := range statements {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// readAll reads one column of every row.
func readAll(t *testing.T, conn *sql.Conn, text string, args []any, col column) []string {
	t.Helper()
	var got []string
	err := mySQL{}.read(t.Context(), conn, text, args, []column{col}, func(r row) (bool, error) {
		v, err := r.appendJSON(nil, 0)
		got = append(got, string(v))
		return true, err
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return got
}

// TestMySQLValues: every type is mapped or refused; the values are read from the real server, and each that can be a
// cursor or a key finds its own row again.
func TestMySQLValues(t *testing.T) {
	type example struct{ literal, json string }
	examples := map[string][]example{
		"tinyint":   {{"-128", `-128`}, {"true", `1`}},
		"smallint":  {{"-32768", `-32768`}},
		"mediumint": {{"8388607", `8388607`}},
		"int":       {{"-2147483648", `-2147483648`}},
		"year":      {{"2026", `2026`}, {"'0000'", `0`}},
		"bigint":    {{"18446744073709551615", `"18446744073709551615"`}, {"9007199254740991", `9007199254740991`}, {"9007199254740992", `"9007199254740992"`}},
		"bit":       {{"b'101'", `5`}, {"18446744073709551615", `"18446744073709551615"`}},
		"decimal":   {{"-123456789012345.67890", `"-123456789012345.67890"`}, {"0.00001", `"0.00001"`}},
		"float":     {{"0.1", `0.1`}, {"16777216", `16777216`}, {"3.4028235e38", `3.4028235e+38`}, {"1.17549435e-38", `1.1754944e-38`}},
		"double":    {{"0.1", `0.1`}, {"0.1e0 + 0.2e0", `0.30000000000000004`}, {"1.7976931348623157e308", `1.7976931348623157e+308`}},
		"date":      {{"'2026-04-07'", `"2026-04-07"`}, {"'0000-00-00'", `"0000-00-00"`}, {"'2026-00-00'", `"2026-00-00"`}, {"'2026-02-31'", `"2026-02-31"`}},
		"time":      {{"'01:23:45.123000'", `"01:23:45.123"`}, {"'-838:59:59'", `"-838:59:59"`}, {"'838:59:58.999999'", `"838:59:58.999999"`}},
		"datetime": {{"'2026-04-07 01:23:45.123456'", `"2026-04-07T01:23:45.123456"`}, {"'2026-04-07'", `"2026-04-07T00:00:00"`},
			{"'0000-00-00'", `"0000-00-00T00:00:00"`}},
		"timestamp": {{"'2026-04-07 01:23:45.12'", `"2026-04-07T01:23:45.12Z"`}, {"0", `"0000-00-00T00:00:00Z"`}},
		"char":      {{"'a '", `"a"`}, {"'😀'", `"😀"`}}, "varchar": {{`'a "'`, `"a \""`}, {`'\\\''`, `"\\'"`}},
		"tinytext": {{"'x'", `"x"`}}, "text": {{"'x'", `"x"`}}, "mediumtext": {{"'x'", `"x"`}}, "longtext": {{"' {}'", `" {}"`}},
		"enum": {{"'b'", `"b"`}}, "set": {{"'x,y'", `"x,y"`}, {"''", `""`}},
		"binary": {{"x'00ff'", `"AP8A"`}}, "varbinary": {{"x'00ff'", `"AP8="`}, {"''", `""`}},
		"tinyblob": {{"x'ff'", `"/w=="`}}, "blob": {{"x'ff'", `"/w=="`}}, "mediumblob": {{"x'ff'", `"/w=="`}}, "longblob": {{"x'ff'", `"/w=="`}},
		"json":  {{`'{"a": [1, 2.50]}'`, `{"a":[1,2.50]}`}, {`'null'`, `null`}},
		"uuid":  {{"'6F9619FF-8B86-D011-B42D-00C04FC964FF'", `"6f9619ff-8b86-d011-b42d-00c04fc964ff"`}},
		"inet4": {{"'192.0.2.1'", `"192.0.2.1"`}}, "inet6": {{"'2001:DB8::1'", `"2001:db8::1"`}},
	}
	conn, writer, l := mysqlConn(t)
	mariaDB := strings.HasPrefix(l.version, "MariaDB")
	d := mySQL{}
	var listing strings.Builder
	for n, rule := range d.types() {
		fmt.Fprintf(&listing, "%-18s %-18s refused=%q cast=%q expr=%q param=%q noKey=%q\n", rule.name, rule.sample, rule.value.refused, rule.value.cast,
			rule.value.expr, rule.value.param, rule.value.noKey)
		list, ok := examples[rule.name]
		delete(examples, rule.name)
		if rule.value.refused != "" {
			if ok || rule.value.cast == "" {
				t.Errorf("type %s is refused, and has examples or no CAST", rule.name)
			}
			continue
		}
		if !ok {
			t.Errorf("type %s is mapped, and has no example", rule.name)
		}
		for _, e := range list {
			fmt.Fprintf(&listing, "    %s\n", e.json)
		}
		if !mariaDB && slices.Contains([]string{"uuid", "inet4", "inet6"}, rule.name) {
			continue
		}
		name := "t" + strconv.Itoa(n)
		mustExec(t, writer, "SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'", "CREATE TABLE "+name+" (n int PRIMARY KEY, c "+rule.sample+" NULL)")
		for i, e := range list {
			mustExec(t, writer, "SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'", fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", name, i, e.literal))
		}
		tab, err := d.table(t.Context(), conn, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		col := tab.columns[1]
		if !reflect.DeepEqual(col.value, rule.value) {
			t.Errorf("%s: the catalog maps it as %+v, the list as %+v", rule.name, col.value, rule.value)
		}
		got := readAll(t, conn, "SELECT "+fill(col.value.expr, "r.`c`")+" FROM "+tab.from+" AS r ORDER BY n", nil, col)
		for i, e := range list {
			if got[i] != e.json {
				t.Errorf("%s: %s is read as %s, want %s", rule.name, e.literal, got[i], e.json)
			}
			if col.value.noKey != "" || col.value.kind == kindFloat || col.value.kind == kindJSON {
				continue
			}
			arg, err := d.arg(&col, []byte(got[i]))
			if err != nil {
				t.Errorf("%s: %s as an argument: %v", rule.name, got[i], err)
				continue
			}
			// A question mark in a literal makes the driver prepare the statement: the binary protocol brings the same.
			binary := readAll(t, conn, "SELECT "+fill(col.value.expr, "r.`c`")+" FROM "+tab.from+" AS r WHERE r.`c` = "+fill(col.value.param, "?")+
				" AND '?' = '?' AND r.n = "+strconv.Itoa(i), []any{arg}, col)
			if !slices.Equal(binary, []string{e.json}) {
				t.Errorf("%s: %s is read as %v by a prepared statement", rule.name, e.json, binary)
			}
			same := readAll(t, conn, "SELECT r.n FROM "+tab.from+" AS r WHERE r.`c` = "+fill(col.value.param, "?")+" AND r.n = "+strconv.Itoa(i), []any{arg},
				column{value: value{code: myInt}})
			if !slices.Equal(same, []string{strconv.Itoa(i)}) {
				t.Errorf("%s: %s does not find its own row: %v", rule.name, got[i], same)
			}
		}
	}
	if len(examples) > 0 {
		t.Errorf("examples of types that are not listed: %v", examples)
	}
	golden.Pin(t, "mysql/types.txt", listing.String())
}

// TestMySQLFloats: the text protocol holds every bit of a double, and of a float by way of a double.
func TestMySQLFloats(t *testing.T) {
	conn, writer, _ := mysqlConn(t)
	mustExec(t, writer, "CREATE TABLE f (n int PRIMARY KEY, f float, d double)")
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed seed
	var values []string
	var doubles []float64
	var singles []float32
	for i := range 2000 {
		d := math.Float64frombits(random.Uint64())
		s := math.Float32frombits(random.Uint32())
		if math.IsNaN(d) || math.IsInf(d, 0) || math.IsNaN(float64(s)) || math.IsInf(float64(s), 0) || math.Abs(d) < 1e-307 || math.Abs(float64(s)) < 1.2e-38 {
			d, s = 1/float64(i+3), 1/float32(i+3)
		}
		doubles, singles = append(doubles, d), append(singles, s)
		values = append(values, fmt.Sprintf("(%d, %s, %s)", i, strconv.FormatFloat(float64(s), 'e', -1, 64), strconv.FormatFloat(d, 'e', -1, 64)))
	}
	mustExec(t, writer, "INSERT INTO f VALUES "+strings.Join(values, ", "))
	single, double := mySQLType{data: "float"}.value(), mySQLType{data: "double"}.value()
	got := readAll(t, conn, "SELECT "+fill(single.expr, "r.f")+" FROM f AS r ORDER BY n", nil, column{value: single})
	for i, s := range singles {
		if back, err := strconv.ParseFloat(got[i], 32); err != nil || float32(back) != s {
			t.Fatalf("float %v is read as %s", s, got[i])
		}
	}
	got = readAll(t, conn, "SELECT r.d FROM f AS r ORDER BY n", nil, column{value: double})
	for i, d := range doubles {
		if back, err := strconv.ParseFloat(got[i], 64); err != nil || back != d {
			t.Fatalf("double %v is read as %s", d, got[i])
		}
	}
}

func TestMySQLSession(t *testing.T) {
	conn, writer, l := mysqlConn(t)
	mustExec(t, writer, "CREATE TABLE s (n int PRIMARY KEY)")
	var zone, mode, version string
	if err := conn.QueryRowContext(t.Context(), "SELECT @@time_zone, @@sql_mode, VERSION()").Scan(&zone, &mode, &version); err != nil {
		t.Fatal(err)
	}
	if zone != "+00:00" || strings.Contains(mode, "NO_ZERO") || !strings.Contains(mode, "NO_ENGINE_SUBSTITUTION") {
		t.Errorf("zone %s, mode %s", zone, mode)
	}
	limit, want := "@@max_execution_time", "28500"
	if isMariaDB(version) {
		limit, want = "@@max_statement_time", "28.5"
	}
	var got string
	if err := conn.QueryRowContext(t.Context(), "SELECT "+limit).Scan(&got); err != nil || strings.TrimRight(got, "0") != strings.TrimRight(want, "0") {
		t.Errorf("%s is %s, %v; want %s", limit, got, err, want)
	}
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO s VALUES (1)"); err == nil {
		t.Error("the session can write")
	}
	again, err := mySQL{}.ready(t.Context(), conn, &Config{Timeout: time.Second})
	if err != nil || again.incarnation != l.incarnation || l.incarnation == "" {
		t.Errorf("incarnation %q, then %q, %v", l.incarnation, again.incarnation, err)
	}
	if !strings.Contains(l.version, version) {
		t.Errorf("version %q", l.version)
	}
}

func TestMySQLCatalog(t *testing.T) {
	conn, writer, l := mysqlConn(t)
	mustExec(t, writer, "CREATE TABLE `Or``ders` (tenant varchar(20) NOT NULL, id bigint NOT NULL, at datetime(6) NULL, long_name varchar(200) NOT NULL, "+
		"`q\"` int, PRIMARY KEY (tenant, id), KEY by_at (at), UNIQUE KEY by_name (long_name(10)), KEY down (at DESC, id))",
		"CREATE VIEW v AS SELECT id, at FROM `Or``ders`")
	d := mySQL{}
	tab, err := d.table(t.Context(), conn, []string{"Or`ders"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tab.primaryKey, []string{"tenant", "id"}) || !strings.HasSuffix(tab.from, ".`Or``ders`") || tab.view {
		t.Errorf("got %+v", tab)
	}
	want := []index{
		{name: "PRIMARY", columns: []string{"tenant", "id"}, unique: true, declared: 2},
		{name: "by_at", columns: []string{"at", "tenant", "id"}, declared: 1},
		{name: "by_name", unique: true, declared: 1},
		{name: "down", declared: 2},
	}
	if !reflect.DeepEqual(tab.indexes, want) {
		t.Errorf("got  %+v\nwant %+v", tab.indexes, want)
	}
	if v, err := d.table(t.Context(), conn, []string{"v"}); err != nil || !v.view || len(v.columns) != 2 {
		t.Errorf("the view: %+v, %v", v, err)
	}
	for _, name := range [][]string{{"absent"}, {"absent", "v"}} {
		if _, err := d.table(t.Context(), conn, name); !errors.Is(err, errNoTable) {
			t.Errorf("%v: %v", name, err)
		}
	}
	q, err := d.query(t.Context(), conn, "SELECT id, at, CAST(1.5 AS DECIMAL(12,3)) AS d, long_name FROM `Or``ders` # all")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range q.columns {
		got = append(got, c.name+" "+c.typ+" "+c.value.param)
	}
	if diff := strings.Join(got, "; "); diff != "id bigint ; at datetime CAST(%s AS DATETIME(6)); d decimal CAST(%s AS DECIMAL(12,3)); long_name varchar " {
		t.Errorf("the query's columns: %s (%s)", diff, l.version)
	}
	if _, err := d.query(t.Context(), conn, "SELECT 1 AS a, 2 AS a"); d.classify(err) != faultSyntax {
		t.Errorf("a name that stands twice: %v", err)
	}
}

// TestMySQLFaults: what the real server says is classified; the numbers that it cannot be made to say follow the manuals.
func TestMySQLFaults(t *testing.T) {
	conn, writer, _ := mysqlConn(t)
	mustExec(t, writer, "CREATE TABLE t (n int PRIMARY KEY)")
	d := mySQL{}
	for _, c := range []struct {
		text string
		want fault
	}{
		{"SELECT 1 FROM absent", faultSchema}, {"SELECT absent FROM t", faultSchema}, {"SELECT 1 FROM", faultSyntax},
		{"SELECT 1 FROM absent.t", faultSchema}, {"SELECT a.n FROM (SELECT 1 AS n, 2 AS n) a", faultSyntax},
	} {
		err := d.read(t.Context(), conn, c.text, nil, nil, nil)
		if got := d.classify(fmt.Errorf("x: %w", err)); got != c.want {
			t.Errorf("%s: %v is %d, want %d", c.text, err, got, c.want)
		}
	}
	for number, want := range map[uint16]fault{1213: faultTransient, 1040: faultTransient, 1053: faultTransient, 2006: faultTransient, 2013: faultTransient,
		1205: faultLocked, 1969: faultTimeout, 3024: faultTimeout, 1044: faultLogin, 1045: faultLogin, 1049: faultLogin, 1142: faultDenied, 1062: faultOther} {
		if got := d.classify(&mysql.MySQLError{Number: number}); got != want {
			t.Errorf("%d is %d, want %d", number, got, want)
		}
	}
	if got := d.classify(mysql.ErrInvalidConn); got != faultTransient {
		t.Errorf("a lost connection is %d", got)
	}
}

// TestMySQLTimeout: an ended context ends the read.
func TestMySQLTimeout(t *testing.T) {
	conn, _, _ := mysqlConn(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := mySQL{}.read(ctx, conn, "SELECT SLEEP(20)", nil, []column{{value: value{code: myInt}}}, func(row) (bool, error) { return true, nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
