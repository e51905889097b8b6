package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/source"
)

// TestProductionRights: what a login may do, and what a table says of autovacuum, decides the items.
func TestProductionRights(t *testing.T) {
	outbox := []string{outboxMode}
	for _, c := range []struct {
		id       string
		settings []string
		change   func(r *source.Rights)
		want     verdict
		says     string
	}{
		{"login-rights", nil, func(r *source.Rights) { r.Admin = []string{"a member of pg_write_all_data"} }, toMend, "reader is a member of pg_write_all_data"},
		{"login-rights", nil, func(*source.Rights) {}, isOK, "reader"},
		{"read-only", nil, func(*source.Rights) {}, isOK, "may only read"},
		{"read-only", nil, func(r *source.Rights) { r.Admin = []string{"securityadmin"} }, toMend, "has no right to write, but rules: it is securityadmin"},
		{"read-only", nil, func(r *source.Rights) { r.Admin, r.Writes = []string{"db_owner"}, []string{"UPDATE"} }, toMend, "REVOKE UPDATE on orders"},
		{"read-only", nil, func(r *source.Rights) { r.Roles = []string{"PUBLIC"} }, cannotTell, "PUBLIC"},
		{"outbox-vacuum", outbox, func(r *source.Rights) {
			r.Vacuums = "autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=20000"
		}, isOK, "0.05"},
		{"outbox-vacuum", outbox, func(r *source.Rights) { r.Vacuums = "autovacuum_vacuum_scale_factor=5e-2" }, isOK, "5e-2"},
		{"outbox-vacuum", outbox, func(r *source.Rights) { r.Vacuums = "autovacuum_vacuum_scale_factor=0.9" }, toMend, "waits for 0.9 of the table"},
		{"outbox-vacuum", outbox, func(r *source.Rights) { r.Vacuums = "autovacuum_vacuum_scale_factor=0.051" }, toMend, "waits for 0.051 of the table"},
		{"outbox-vacuum", outbox, func(r *source.Rights) { r.Vacuums = "autovacuum_vacuum_insert_scale_factor=0" }, toMend, "default scale factor"},
		{"outbox-vacuum", outbox, func(r *source.Rights) { r.Vacuums = "autovacuum_vacuum_scale_factor=" }, toMend, "default scale factor"},
		{"outbox-vacuum", outbox, func(r *source.Rights) {
			r.Vacuums = "autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000000000"
		}, toMend, "waits for 2000000000 dead rows"},
	} {
		f, p := factsOf(t, c.settings...)
		c.change(&p.rights)
		at := slices.IndexFunc(checklist(), func(i item) bool { return i.id == c.id })
		got := judgeAll(f, nil).Items[at].Answers[0]
		if got.Verdict != c.want || !strings.Contains(got.Seen+" → "+got.Mend, c.says) || c.want == toMend && got.Mend == "" {
			t.Errorf("%s of %+v is %s: %s → %s; want %s, %q", c.id, p.rights, got.Verdict, got.Seen, got.Mend, c.want, c.says)
		}
	}
}
