package config

import (
	"slices"
	"strings"
	"testing"
)

// TestEveryChangeFaults: what has no meaning where every change is read is refused, with what to do.
func TestEveryChangeFaults(t *testing.T) {
	for given, want := range map[string]string{
		"ORDERS_DB=sqlite:shop.db":                     "",
		"ORDERS_DB=sqlserver://u:p@host?database=shop": "source__every_change: needs triggers",
		"pollers__orders__source__every_change=false":  "source__before_image: goes with every change",
		"pollers__orders__source__every_change=maybe":  "source__every_change",
		"pollers__orders__source__before_image=false":  "",
		"pollers__orders__source__changed=note":        "",
		"pollers__orders__source__operations=update":   "",
		"pollers__orders__source__order_key=customer":  "",
		"pollers__orders__source__start=snapshot":      "",
		"pollers__orders__source__on_gap=resync":       "",
		"pollers__orders__source__track_max_deletes=7": "source__track_retention bounds the history",
		"pollers__orders__source__mode=cursor":         "Write pollers__orders__source__mode=changetracking",
		"pollers__orders__source__leases=azfunc":       "source__every_change",
		"pollers__orders__source__isolation=snapshot":  "source__isolation: is for SQL Server's own change tracking",
		"pollers__orders__output__format=sqltrigger":   "output__format: is that of the Azure SQL trigger",
		"pollers__orders__output__kind=sql":            "output__kind: is sql, and with source__every_change",
		"changed without before":                       "source__changed: is known of each change only with the row before it",
	} {
		list := []string{"ORDERS_DB=sqlite:shop.db", "pollers__orders__source__connection=ORDERS_DB",
			"pollers__orders__source__table=orders", "pollers__orders__source__mode=changetracking",
			"pollers__orders__source__every_change=true", "pollers__orders__source__before_image=true",
			"pollers__orders__output__kind=stdout", "state__kind=memory"}
		name, _, is := strings.Cut(given, "=")
		if list = slices.DeleteFunc(list, func(s string) bool { return strings.HasPrefix(s, name+"=") }); is {
			list = append(list, given)
		} else {
			list[5] = "pollers__orders__source__changed=note"
		}
		_, err := Load(list)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
}

// TestIsolation: changes are read in no snapshot where that is asked for, and where leases share them.
func TestIsolation(t *testing.T) {
	for given, want := range map[string]bool{"": false, "isolation=snapshot": false, "isolation=read_committed": true,
		"leases=azfunc": true} {
		list := []string{"ORDERS_DB=sqlserver://u:p@host?database=shop", "pollers__orders__source__connection=ORDERS_DB",
			"pollers__orders__source__table=orders", "pollers__orders__source__mode=changetracking",
			"pollers__orders__output__kind=stdout", "WEBSITE_SITE_NAME=shop", "state__kind=memory"}
		if given != "" {
			list = append(list, "pollers__orders__source__"+given)
		}
		cfg, err := Load(list)
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if got := cfg.Pollers[0].Source.ReadsCommitted(); got != want {
			t.Errorf("%s: %v", given, got)
		}
	}
}
