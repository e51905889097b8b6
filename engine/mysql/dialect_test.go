package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
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

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/enginetest"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// mysqlConn returns a connection to a database of the test's own, as the framework prepares it, and a writer beside it.
func mysqlConn(t *testing.T) (*sql.Conn, *sql.DB, engine.Server) {
	t.Helper()
	url := testenv.MySQL(t)
	c, err := Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	conn, server := enginetest.Prepare(t, Dialect{}, c.DB(2))
	return conn, testenv.Open(t, "mysql", testenv.MySQLDSN(t, url)), server
}

// TestMySQLFloats: the text protocol holds every bit of a double, and of a float by way of a double.
func TestMySQLFloats(t *testing.T) {
	conn, writer, _ := mysqlConn(t)
	testenv.Exec(t, writer, "CREATE TABLE f (n int PRIMARY KEY, f float, d double)")
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed seed
	var values []string
	var doubles []float64
	var singles []float32
	for i := range 2000 {
		d := math.Float64frombits(random.Uint64())
		s := math.Float32frombits(random.Uint32())
		if math.IsNaN(d) || math.IsInf(d, 0) || math.IsNaN(float64(s)) || math.IsInf(float64(s), 0) || math.Abs(d) < 1e-307 ||
			math.Abs(float64(s)) < 1.2e-38 {
			d, s = 1/float64(i+3), 1/float32(i+3)
		}
		doubles, singles = append(doubles, d), append(singles, s)
		values = append(values, fmt.Sprintf("(%d, %s, %s)", i, strconv.FormatFloat(float64(s), 'e', -1, 64),
			strconv.FormatFloat(d, 'e', -1, 64)))
	}
	testenv.Exec(t, writer, "INSERT INTO f VALUES "+strings.Join(values, ", "))
	single, double := Type{Data: "float"}.Value(), Type{Data: "double"}.Value()
	got := enginetest.Values(t, Dialect{}, conn, "SELECT "+engine.Fill(single.Expr, "r.f")+" FROM f AS r ORDER BY n", nil,
		engine.Column{Value: single})
	for i, s := range singles {
		if back, err := strconv.ParseFloat(got[i], 32); err != nil || float32(back) != s {
			t.Fatalf("float %v is read as %s", s, got[i])
		}
	}
	got = enginetest.Values(t, Dialect{}, conn, "SELECT r.d FROM f AS r ORDER BY n", nil, engine.Column{Value: double})
	for i, d := range doubles {
		if back, err := strconv.ParseFloat(got[i], 64); err != nil || back != d {
			t.Fatalf("double %v is read as %s", d, got[i])
		}
	}
}

func TestMySQLSession(t *testing.T) {
	conn, writer, l := mysqlConn(t)
	testenv.Exec(t, writer, "CREATE TABLE s (n int PRIMARY KEY)")
	var zone, mode, version string
	if err := conn.QueryRowContext(t.Context(), "SELECT @@time_zone, @@sql_mode, VERSION()").Scan(&zone, &mode,
		&version); err != nil {
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
	if err := conn.QueryRowContext(t.Context(), "SELECT "+limit).Scan(&got); err != nil ||
		strings.TrimRight(got, "0") != strings.TrimRight(want, "0") {
		t.Errorf("%s is %s, %v; want %s", limit, got, err, want)
	}
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO s VALUES (1)"); err == nil {
		t.Error("the session can write")
	}
	again, err := Dialect{}.Prepare(t.Context(), conn, engine.Settings{Timeout: time.Second})
	if err != nil || again.Incarnation != l.Incarnation || l.Incarnation == "" {
		t.Errorf("incarnation %q, then %q, %v", l.Incarnation, again.Incarnation, err)
	}
	if !strings.Contains(l.Version, version) {
		t.Errorf("version %q", l.Version)
	}
}

// TestMySQLServerModes: a server's sql_mode changes how the catalog writes the check of a JSON column, and in MariaDB
// what an empty text is. Neither changes what is read.
func TestMySQLServerModes(t *testing.T) {
	conn, writer, l := mysqlConn(t)
	testenv.Exec(t, writer, "CREATE TABLE m (id int PRIMARY KEY, `odd\"``name` json)")
	modes := "ANSI_QUOTES"
	if strings.HasPrefix(l.Version, "MariaDB") {
		modes += ",EMPTY_STRING_IS_NULL"
	}
	testenv.ExecOn(t, conn, "SET sql_mode = '"+modes+"'")
	if _, err := (Dialect{}).Prepare(t.Context(), conn, engine.Settings{Timeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	tab, err := Dialect{}.Table(t.Context(), conn, []string{"m"})
	if err != nil {
		t.Fatal(err)
	}
	if got := tab.Columns[1].Value.Kind; got != engine.KindJSON {
		t.Errorf("a JSON column is of kind %v", got)
	}
	text := engine.Column{Value: Type{Data: "varchar"}.Value()}
	if got := enginetest.Values(t, Dialect{}, conn, "SELECT ?", []any{""}, text); got[0] != `""` {
		t.Errorf("an empty text is read as %s", got[0])
	}
}

func TestMySQLCatalog(t *testing.T) {
	conn, writer, l := mysqlConn(t)
	testenv.Exec(t, writer, "CREATE TABLE `Or``ders` (tenant varchar(20) NOT NULL, id bigint NOT NULL, "+
		"at datetime(6) NULL, long_name varchar(200) NOT NULL, "+
		"`q\"` int, PRIMARY KEY (tenant, id), KEY by_at (at), UNIQUE KEY by_name (long_name(10)), KEY down (at DESC, id))",
		"CREATE VIEW v AS SELECT id, at FROM `Or``ders`")
	d := Dialect{}
	tab, err := d.Table(t.Context(), conn, []string{"Or`ders"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tab.PrimaryKey, []string{"tenant", "id"}) || !strings.HasSuffix(tab.From, ".`Or``ders`") || tab.View {
		t.Errorf("got %+v", tab)
	}
	want := []engine.Index{
		{Name: "PRIMARY", Columns: []string{"tenant", "id"}, Unique: true, Declared: 2, Whole: []string{"tenant", "id"}},
		{Name: "by_at", Columns: []string{"at", "tenant", "id"}, Declared: 1, Whole: []string{"at"}},
		{Name: "by_name", Unique: true, Declared: 1},
		{Name: "down", Declared: 2, Whole: []string{"at", "id"}},
	}
	if !reflect.DeepEqual(tab.Indexes, want) {
		t.Errorf("got  %+v\nwant %+v", tab.Indexes, want)
	}
	if v, err := d.Table(t.Context(), conn, []string{"v"}); err != nil || !v.View || len(v.Columns) != 2 {
		t.Errorf("the view: %+v, %v", v, err)
	}
	for _, name := range [][]string{{"absent"}, {"absent", "v"}} {
		if _, err := d.Table(t.Context(), conn, name); !errors.Is(err, engine.ErrNoTable) {
			t.Errorf("%v: %v", name, err)
		}
	}
	q, err := d.Query(t.Context(), conn, "SELECT id, at, CAST(1.5 AS DECIMAL(12,3)) AS d, long_name FROM `Or``ders` # all")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range q.Columns {
		got = append(got, c.Name+" "+c.Type+" "+c.Value.Param)
	}
	if diff := strings.Join(got, "; "); diff != "id bigint ; at datetime CAST(%s AS DATETIME(6)); d decimal CAST(%s AS DECIMAL(12,3)); long_name varchar " {
		t.Errorf("the query's columns: %s (%s)", diff, l.Version)
	}
	if _, err := d.Query(t.Context(), conn, "SELECT 1 AS a, 2 AS a"); d.Classify(err) != engine.FaultSyntax {
		t.Errorf("a name that stands twice: %v", err)
	}
}

// TestMySQLFaults: what the real server says is classified; the numbers that it cannot be made to say follow the
// manuals.
func TestMySQLFaults(t *testing.T) {
	conn, writer, _ := mysqlConn(t)
	testenv.Exec(t, writer, "CREATE TABLE t (n int PRIMARY KEY)")
	d := Dialect{}
	for _, c := range []struct {
		text string
		want engine.Fault
	}{
		{"SELECT 1 FROM absent", engine.FaultSchema}, {"SELECT absent FROM t", engine.FaultSchema},
		{"SELECT 1 FROM", engine.FaultSyntax},
		{"SELECT 1 FROM mysql.absent", engine.FaultSchema}, {"SELECT a.n FROM (SELECT 1 AS n, 2 AS n) a", engine.FaultSyntax},
	} {
		err := d.Read(t.Context(), conn, c.text, nil, nil, nil)
		if got := d.Classify(fmt.Errorf("x: %w", err)); got != c.want {
			t.Errorf("%s: %v is %d, want %d", c.text, err, got, c.want)
		}
	}
	for number, want := range map[uint16]engine.Fault{1213: engine.FaultTransient, 1040: engine.FaultTransient,
		1053: engine.FaultTransient, 2006: engine.FaultTransient, 2013: engine.FaultTransient,
		1205: engine.FaultLocked, 1969: engine.FaultTimeout, 3024: engine.FaultTimeout, 1044: engine.FaultLogin,
		1045: engine.FaultLogin, 1049: engine.FaultLogin, 1142: engine.FaultDenied,
		1062: engine.FaultConstraint, 1406: engine.FaultConstraint} {
		if got := d.Classify(&mysql.MySQLError{Number: number}); got != want {
			t.Errorf("%d is %d, want %d", number, got, want)
		}
	}
	for message, want := range map[string]engine.Fault{ // one number for every option
		"The MariaDB server is running with the --read-only option so it cannot execute this statement": engine.FaultReadOnly,
		"The MySQL server is running with the --super-read-only option so it cannot execute":            engine.FaultReadOnly,
		"The MariaDB server is running with the --secure-file-priv option so it cannot execute":         engine.FaultOther,
	} {
		if got := d.Classify(&mysql.MySQLError{Number: 1290, Message: message}); got != want {
			t.Errorf("%s: %d, want %d", message, got, want)
		}
	}
	if got := d.Classify(mysql.ErrInvalidConn); got != engine.FaultTransient {
		t.Errorf("a lost connection is %d", got)
	}
}

// TestMySQLTimeout: an ended context ends the read.
func TestMySQLTimeout(t *testing.T) {
	conn, _, _ := mysqlConn(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := Dialect{}.Read(ctx, conn, "SELECT SLEEP(20)", nil, []engine.Column{{Value: engine.Value{Code: myInt}}},
		func(engine.Row) (bool, error) { return true, nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestAge: a clock that was put back makes an age negative.
func TestAge(t *testing.T) {
	if age, err := age("2026-10-25 02:00:10.000000", "2026-10-25 02:59:50"); err != nil || age >= 0 {
		t.Errorf("a clock that was put back: %v %v", age, err)
	}
}

// TestStatements pins what is sent once per connection and once per plan.
func TestStatements(t *testing.T) {
	var b strings.Builder
	for _, s := range []string{variablesSQL, tableSQL, columnsSQL, engine.Fill(indexesSQL, "s.IS_VISIBLE = 'NO'"),
		engine.Fill(indexesSQL, "s.IGNORED = 'YES'"), mariadbJSON,
		describeSQL("SELECT 1 AS a"),
		sessionSQL(engine.Settings{Timeout: 30 * time.Second},
			map[string]string{"version": "8.0.36",
				"sql_mode": "TRADITIONAL,STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ANSI_QUOTES"}),
		sessionSQL(engine.Settings{Timeout: 500 * time.Millisecond}, map[string]string{"version": "10.11.6-MariaDB"})} {
		fmt.Fprintf(&b, "%s;\n\n", s)
	}
	golden.Pin(t, "statements.sql", b.String())
	golden.Pin(t, "rights.sql", rightsSQL+"\n\n"+rolesSQL+"\n\n"+grantsSQL+"\n")
}

// BenchmarkMySQLRow encodes one typical row as go-sql-driver returns it.
func BenchmarkMySQLRow(b *testing.B) {
	r := sqlRow{values: []driver.Value{int64(12093), []byte("Ada Lovelace"), []byte("1234.5600"),
		[]byte("2026-04-07 01:23:45.123456")}}
	for _, t := range []Type{{Data: "bigint"}, {Data: "varchar"}, {Data: "decimal", Scale: 4},
		{Data: "datetime", Scale: 6}} {
		r.cols = append(r.cols, engine.Column{Value: t.Value()})
	}
	enginetest.Encode(b, &r, len(r.cols))
}

// TestSortedBy: an upgrade of the server renames a collation, and the order stays.
func TestSortedBy(t *testing.T) {
	for shown, want := range map[string]string{"utf8mb3_general_ci": "utf8_general_ci",
		"utf8_general_ci": "utf8_general_ci", "utf8mb4_bin": "utf8mb4_bin", "": ""} {
		if got := sortedBy(shown); got != want {
			t.Errorf("%q counts as %q, want %q", shown, got, want)
		}
	}
}
