package tracking_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/tracking"
)

// TestInstalledByAnOlderVersion: what an older version installed is noticed, and brought up to date without a gap.
func TestInstalledByAnOlderVersion(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		renewed(t, "postgres", func(r *rig, statements []string) {
			for _, statement := range statements {
				if strings.Contains(statement, "CREATE OR REPLACE FUNCTION") {
					r.exec(strings.Replace(statement, "#variable_conflict use_column\n", "", 1))
				}
			}
		})
	})
	t.Run("mysql", func(t *testing.T) {
		renewed(t, "mysql", func(r *rig, _ []string) {
			r.exec("ALTER TABLE rowrelay_changes_orders DROP KEY rowrelay_changes_orders_version, " +
				"ADD KEY rowrelay_changes_orders_version (rowrelay_version, id)")
		})
		renewed(t, "mysql", func(r *rig, _ []string) {
			r.exec("ALTER TABLE rowrelay_changes_orders DROP KEY rowrelay_changes_orders_version")
		})
	})
}

// renewed installs, has older make it what an older version made, and brings that up to date.
func renewed(t *testing.T, engine string, older func(*rig, []string)) {
	t.Helper()
	r := newRig(t, engine)
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
		s, err := tracking.Look(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
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
	older(r, work().Statements)
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
