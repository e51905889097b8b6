package tracking_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/tracking"
)

// TestFunctionOfAnOlderVersion: what an older version installed is noticed, and brought up to date without a gap.
func TestFunctionOfAnOlderVersion(t *testing.T) {
	r := newRig(t, "postgres")
	work := func() tracking.Work {
		t.Helper()
		w, err := tracking.Install(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	noticed := func(want bool) {
		t.Helper()
		s, err := tracking.Look(t.Context(), r.conn, "orders", "", "orders")
		if err != nil || len(s.Faults) > 0 || strings.Contains(s.Outdated, "rowrelay track install orders") != want {
			t.Errorf("%+v, %v", s, err)
		}
		check, err := r.instance(usual).src.Check(t.Context(), nil, 1, 10)
		if err != nil || strings.Contains(strings.Join(check.Warnings, "\n"), "older version") != want {
			t.Errorf("warnings %q, %v", check.Warnings, err)
		}
		if w := work(); w.Done == want {
			t.Errorf("done is %t", w.Done)
		}
	}
	noticed(false)
	for _, statement := range work().Statements {
		if strings.Contains(statement, "CREATE OR REPLACE FUNCTION") {
			r.exec(strings.Replace(statement, "#variable_conflict use_column\n", "", 1))
		}
	}
	noticed(true)
	i := r.instance(usual)
	r.insert(1, 1)
	r.until(i, inserts(1, 1))
	w := work()
	if err := w.Apply(t.Context(), r.db); err != nil || len(w.Statements) != 1 {
		t.Fatalf("%v: %q", err, w.Statements)
	}
	noticed(false)
	r.insert(2, 2)
	r.until(i, inserts(2, 2))
	if report := i.Tick(t.Context()); report.Failed() {
		t.Error(report.Err)
	}
}
