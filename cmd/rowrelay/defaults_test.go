package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestDefaultsOfManyTables: a poller for each of several tables takes one setting, the rest is said once.
func TestDefaultsOfManyTables(t *testing.T) {
	t.Chdir(t.TempDir())
	connection, to := testenv.Postgres(t), newHook(t)
	environ := []string{"DB=" + connection, "state__kind=file", "defaults__source__connection=DB",
		"defaults__source__cursor=id",
		"defaults__source__late_commits=none", "defaults__output__kind=http", "defaults__output__url=" + to.URL,
		"defaults__output__format=row", "defaults__output__batch=1"}
	for _, table := range []string{"orders", "items", "people"} {
		runSQL(t, connection, `CREATE TABLE `+table+` (id bigint PRIMARY KEY, name text)`,
			`INSERT INTO `+table+` VALUES (1, '`+table+`')`)
		environ = append(environ, "pollers__"+table+"__source__table="+table)
	}
	environ = append(environ, "pollers__people__output__mask__name=redact")
	for _, args := range [][]string{{"check"}, {"run", "--once"}} {
		if out, errs, err := sampled(t, environ, args...); err != nil {
			t.Fatal(err, out, errs)
		}
	}
	want := []string{`{"id":1,"name":"***"}`, `{"id":1,"name":"items"}`, `{"id":1,"name":"orders"}`}
	if got := to.took(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	out, errs, err := sampled(t, append(environ, "defaults__output__batch_bytes=none"), "check")
	if err == nil || !strings.Contains(out+errs, "defaults__output__batch_bytes: ") {
		t.Error(err, out, errs)
	}
}

// TestRunOnceWarns: who lets a timer call run --once reads what a table lacks there, as in the log of run.
func TestRunOnceWarns(t *testing.T) {
	t.Chdir(t.TempDir())
	connection := newFile(t)
	runSQL(t, connection, `CREATE TABLE orders (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)`)
	_, errs, err := sampled(t, ordersOf(connection, "pollers__orders__source__cursor=version",
		"pollers__orders__source__late_commits=none"), "run", "--once")
	for _, want := range []string{"source__late_commits=none: a row", "no index serves the order"} {
		if err != nil || !strings.Contains(errs, want) {
			t.Errorf("%q is not said: %v\n%s", want, err, errs)
		}
	}
}
