package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// sampled runs a command; environ are settings beside those of a poller orders that prints to standard output.
func sampled(t *testing.T, environ []string, args ...string) (out, errs string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	err = execute(t.Context(), args, environ, strings.NewReader(""), &o, &e)
	return o.String(), e.String(), err
}

func ordersOf(connection string, more ...string) []string {
	return with([]string{"DB=" + connection, "state__kind=file", "pollers__orders__source__connection=DB",
		"pollers__orders__source__table=orders", "pollers__orders__output__kind=stdout"}, more...)
}

// with puts settings in the place of those of the same names.
func with(environ []string, more ...string) []string {
	all := slices.Clone(environ)
	for _, setting := range more {
		name, _, _ := strings.Cut(setting, "=")
		all = slices.DeleteFunc(all, func(have string) bool { return strings.HasPrefix(have, name+"=") })
	}
	return append(all, more...)
}

// fits says where a value does not fit a schema, "" where it does. It knows the words that Schema uses.
func fits(schema map[string]any, v any) string {
	if list, ok := schema["anyOf"].([]any); ok && !slices.ContainsFunc(list, func(s any) bool { return fits(s.(map[string]any), v) == "" }) {
		return fmt.Sprintf("%v is none of %v", v, list)
	}
	if list, ok := schema["enum"].([]any); ok && !slices.Contains(list, v) {
		return fmt.Sprintf("%v is none of %v", v, list)
	}
	is := map[string]bool{"null": v == nil}
	switch v := v.(type) {
	case bool:
		is["boolean"] = true
	case string:
		is["string"] = true
	case float64:
		is["number"], is["integer"] = true, v == float64(int64(v))
	case []any:
		is["array"] = true
		items, _ := schema["items"].(map[string]any)
		for _, item := range v {
			if why := fits(items, item); why != "" {
				return why
			}
		}
	case map[string]any:
		is["object"] = true
		properties, _ := schema["properties"].(map[string]any)
		for name, member := range v {
			s, known := properties[name].(map[string]any)
			if properties != nil && !known {
				return name + " is not told of"
			}
			if why := fits(s, member); why != "" {
				return name + ": " + why
			}
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				return fmt.Sprintf("%v is missing", name)
			}
		}
	}
	switch want := schema["type"].(type) {
	case string:
		if !is[want] {
			return fmt.Sprintf("%v is no %s", v, want)
		}
	case []any:
		if !slices.ContainsFunc(want, func(w any) bool { return is[w.(string)] }) {
			return fmt.Sprintf("%v is none of %v", v, want)
		}
	}
	return ""
}

// TestSchema: what is sent fits the schema that was printed before, in each format, of each engine's types, with NULL
// and with values at their ends; and what is not sent does not.
func TestSchema(t *testing.T) {
	types := map[string]string{
		newFile(t): `CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, a BIGINT, b DECIMAL(10,2), c REAL, d TEXT, e BLOB, f DATETIME, g BOOLEAN, h JSON);
			INSERT INTO orders VALUES (1, 9223372036854775807, 1.5, 0.1, 'x', x'00ff', '2026-04-07 01:23:45', 1, '{"a":1}'),
			(2, 7, 'x', 3, 4, NULL, 5, 'maybe', '[1]'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		testenv.Postgres(t): `CREATE TABLE orders (id bigint PRIMARY KEY, a numeric(30,2), b float8, c text NOT NULL, d bytea, e timestamptz, f date, g boolean, h jsonb, i uuid, j time);
			INSERT INTO orders VALUES (9223372036854775807, 1.50, 'NaN', 'x', '\x00ff', now(), 'infinity', true, '[1]', gen_random_uuid(), '01:02'),
			(1, NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		testenv.MySQL(t): `CREATE TABLE orders (id bigint unsigned PRIMARY KEY, a decimal(30,2), b double, c text NOT NULL, d blob, e timestamp NULL, f date, g tinyint(1), h json, i year, j time);
			INSERT INTO orders VALUES (18446744073709551615, 1.50, 0.1, 'x', x'00ff', now(), '2026-04-07', true, '[1]', 2026, '01:02'),
			(1, NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
	}
	for connection, ddl := range types {
		for statement := range strings.SplitSeq(ddl, ";\n") {
			runSQL(t, connection, statement)
		}
		name, _, _ := strings.Cut(connection, ":")
		for _, format := range []string{"cloudevents", "rowchange", "sqltrigger", "row"} {
			t.Chdir(t.TempDir())
			environ := ordersOf(connection, "pollers__orders__source__cursor=id", "pollers__orders__output__format="+format)
			schemaFits(t, name+" "+format, environ, 2)
		}
	}
	every := []string{"pollers__orders__source__every_change=true", "pollers__orders__source__before_image=true"}
	for _, c := range []struct {
		format string
		more   []string
	}{
		{"cloudevents", nil}, {"rowchange", nil}, {"sqltrigger", nil}, {"row", nil}, {"cloudevents", every[:1:1]},
		{"rowchange", every[:1:1]}, {"row", every[:1:1]}, {"cloudevents", every}, {"rowchange", every}, {"row", every},
	} {
		t.Chdir(t.TempDir())
		format, connection := c.format, newFile(t)
		runSQL(t, connection, `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)`)
		environ := ordersOf(connection, append(c.more, "pollers__orders__source__mode=changetracking",
			"pollers__orders__output__format="+format)...)
		if _, errs, err := sampled(t, environ, "track", "install", "orders", "--apply", "--yes"); err != nil {
			t.Fatal(err, errs)
		}
		runSQL(t, connection, `INSERT INTO orders VALUES (1, 'tea'), (2, 'oil')`,
			`UPDATE orders SET item = 'ink' WHERE id = 1`, `DELETE FROM orders WHERE id = 2`)
		schemaFits(t, strings.Join(append(c.more, "changes", format), " "), environ, 2)
	}
}

func schemaFits(t *testing.T, name string, environ []string, least int) {
	t.Helper()
	printed, errs, err := sampled(t, environ, "schema", "orders")
	var schema map[string]any
	if err != nil || json.Unmarshal([]byte(printed), &schema) != nil {
		t.Fatal(name, err, errs, printed)
	}
	lines, errs, err := sampled(t, environ, "run", "--once")
	if err != nil {
		t.Fatal(name, err, errs)
	}
	n := 0
	for line := range strings.Lines(lines) {
		var event any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err, line)
		}
		if why := fits(schema, event); why != "" {
			t.Errorf("%s: %s: %s", name, why, line)
		}
		n++
	}
	if n < least {
		t.Errorf("%s: %d events: %s", name, n, lines)
	}
	for _, wrong := range []any{map[string]any{}, "x", []any{map[string]any{}}} {
		if fits(schema, wrong) == "" {
			t.Errorf("%s: the schema takes %v", name, wrong)
		}
	}
}

// TestSchemaOfARequest: a batch is an array; AsyncAPI says where it goes, and has a parameter for each placeholder.
func TestSchemaOfARequest(t *testing.T) {
	t.Chdir(t.TempDir())
	connection := newFile(t)
	runSQL(t, connection, `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)`)
	to := func(url string) []string {
		return ordersOf(connection, "pollers__orders__source__cursor=id", "pollers__orders__output__kind=http",
			"pollers__orders__output__url="+url)
	}
	out, _, err := sampled(t, to("https://e.com/hooks?code=planted"), "schema", "orders")
	if err != nil || !strings.Contains(out, `"type": "array"`) {
		t.Error(err, out)
	}
	out, _, err = sampled(t, to("https://e.com/{row.item}/{key}?code=planted"), "schema", "orders", "--asyncapi")
	var doc struct {
		Channels map[string]struct {
			Address    string
			Parameters map[string]any
		}
	}
	if err != nil || json.Unmarshal([]byte(out), &doc) != nil || doc.Channels["orders"].Address != "/{row_item}/{key}" ||
		!slices.Equal(slices.Sorted(maps.Keys(doc.Channels["orders"].Parameters)), []string{"key", "row_item"}) ||
		strings.Contains(out, "planted") {
		t.Error(err, out)
	}
	// Of an outbox the payload is its writer's; a table that is not there is told.
	out, _, err = sampled(t, []string{"DB=" + connection, "pollers__e__source__connection=DB",
		"pollers__e__source__mode=outbox",
		"pollers__e__source__table=outbox", "pollers__e__output__kind=stdout"}, "schema", "e")
	if err != nil || !strings.Contains(out, `"partitionkey"`) {
		t.Error(err, out)
	}
	_, _, err = sampled(t, with(to("https://e.com/"), "pollers__orders__source__table=nobody"), "schema", "orders")
	if err == nil {
		t.Error("the schema of no table")
	}
}

// TestTail prints what there is and what comes, and leaves nothing behind.
func TestTail(t *testing.T) {
	t.Chdir(t.TempDir())
	connection := newFile(t)
	runSQL(t, connection, `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)`,
		`INSERT INTO orders VALUES (1, 'tea')`)
	environ := ordersOf(connection, "pollers__orders__source__cursor=id", "pollers__orders__output__kind=http",
		"pollers__orders__output__url=http://127.0.0.1:1/", "pollers__orders__output__format=row")
	for _, c := range []struct {
		from string
		want []string
	}{
		{"earliest", []string{`{"id":1,"item":"tea"}`, `"item":"oil"`}},
		{"1", []string{`{"id":2,"item":"oil"}`, `"item":"oil"`}},
		{"latest", []string{`"item":"oil"`}},
	} {
		ctx, stop := context.WithCancel(t.Context())
		r, w := io.Pipe()
		errR, errW := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- execute(ctx, []string{"tail", "orders", "--from", c.from}, environ, strings.NewReader(""), w, errW)
			_ = w.Close()
		}()
		if line, err := bufio.NewReader(errR).ReadString('\n'); err != nil || !strings.Contains(line, "nothing is sent") {
			t.Fatal(line, err)
		}
		go func() { _, _ = io.Copy(io.Discard, errR) }()
		lines := make(chan string, 100)
		go func() {
			for scan := bufio.NewScanner(r); scan.Scan(); {
				lines <- scan.Text()
			}
		}()
		for i, want := range c.want {
			if last := i == len(c.want)-1; !last {
				if got := <-lines; got != want {
					t.Errorf("from %s: %s, not %s", c.from, got, want)
				}
				continue
			}
			programtest.Until(t, "a row that is written now", func() bool {
				runSQL(t, connection, `INSERT INTO orders (item) VALUES ('oil')`)
				select {
				case got := <-lines:
					if !strings.Contains(got, want) {
						t.Errorf("from %s: %s, not %s", c.from, got, want)
					}
					return true
				default:
					return false
				}
			})
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if files, err := filepath.Glob("*"); err != nil || len(files) > 0 {
		t.Errorf("%q were left: %v", files, err)
	}
	_, _, err := sampled(t, with(environ, "pollers__orders__source__mode=outbox"), "tail", "orders")
	if err == nil || !strings.Contains(err.Error(), "rowrelay outbox list orders") {
		t.Error(err)
	}
}

// TestTestEvent sends one marked event, says what was answered, and moves nothing.
func TestTestEvent(t *testing.T) {
	t.Chdir(t.TempDir())
	connection := newFile(t)
	runSQL(t, connection, `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)`)
	var seen []http.Header
	status, page := http.StatusOK, ""
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seen = append(seen, q.Header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(receiver.Close)
	environ := ordersOf(connection, "pollers__orders__source__cursor=id", "pollers__orders__output__kind=http",
		"pollers__orders__output__url="+receiver.URL+"/hooks")
	if _, _, err := sampled(t, environ, "test-event", "orders", "--yes"); err == nil || !strings.Contains(err.Error(),
		"no row to send") {
		t.Error(err)
	}
	runSQL(t, connection, `INSERT INTO orders VALUES (1, 'tea')`)
	if out, _, err := sampled(t, environ, "test-event", "orders", "--dry-run"); err != nil || len(seen) > 0 ||
		!strings.Contains(out, `"item":"tea"`) {
		t.Error(err, out)
	}
	if _, _, err := sampled(t, environ, "test-event", "orders"); err == nil || len(seen) > 0 {
		t.Error("sent without a word", err)
	}
	out, _, err := sampled(t, environ, "test-event", "orders", "--yes")
	if err != nil || len(seen) != 1 || !strings.Contains(out, "took test-") {
		t.Fatal(err, out)
	}
	if h := seen[0]; !strings.HasPrefix(h.Get("Rowrelay-Event-Id"), "test-") || h.Get("Rowrelay-Batch-Id") != "test" ||
		h.Get("Rowrelay-Fencing-Token") != "0" || h.Get("Rowrelay-Delivery") != "0" {
		t.Error(h)
	}
	status = http.StatusUnauthorized
	if _, _, err := sampled(t, environ, "test-event", "orders", "--yes"); err == nil || !strings.Contains(err.Error(),
		"answered 401") ||
		!strings.Contains(err.Error(), "check the key in output__url") {
		t.Error(err)
	}
	status, page = http.StatusOK, "<!doctype html><title>Sign in</title>"
	if _, errs, err := sampled(t, environ, "test-event", "orders", "--yes"); err != nil ||
		!strings.Contains(errs, "answered 200 with an HTML page") {
		t.Error(err, errs)
	}
	page = ""
	out, _, err = sampled(t, with(environ, "pollers__orders__source__mode=outbox", "pollers__orders__source__cursor="),
		"test-event", "orders", "--yes",
		"--event-type", "OrderPlaced", "--payload", `{"a":1}`)
	if err != nil || seen[len(seen)-1].Get("Rowrelay-Event-Type") != "OrderPlaced" || !strings.Contains(out,
		`"data":{"a":1}`) {
		t.Error(err, out)
	}
	runSQL(t, connection, `CREATE TABLE copies (id INTEGER PRIMARY KEY, item TEXT)`)
	environ = append(ordersOf(connection, "pollers__orders__source__cursor=id", "pollers__orders__output__kind=sql",
		"pollers__orders__output__connection=COPIES", "pollers__orders__output__table=copies"), "COPIES="+connection)
	if _, _, err := sampled(t, environ, "test-event", "orders", "--yes"); err == nil ||
		!strings.Contains(err.Error(), "--dry-run shows it") {
		t.Error(err)
	}
	if _, err := os.Stat(".rowrelay/state"); err == nil {
		t.Error("a document was written")
	}
}
