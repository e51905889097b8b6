package plan

import (
	"testing"

	"github.com/rowrelay/rowrelay/engine"
)

// The fingerprint is stored in every checkpoint: when this test fails, every poller would stop at its next tick.
func TestGoldenFingerprint(t *testing.T) {
	cfg := &Config{Where: "status = 'new'", DeleteWhen: "gone", Op: "upsert"}
	got := fingerprint(cfg, "postgres", "db.example:5432/shop", engine.Table{Name: "public.orders"},
		[]string{"updated_at"}, []string{"tenant", "id"})
	if want := "sha256:f0fc6848a29cc92020bdd6624aa0115453f90b9e9f377f1de5d1a01cf35706d5"; got != want {
		t.Errorf("the fingerprint is %s, it was %s", got, want)
	}
	cfg.Op = ""
	if same := fingerprint(cfg, "postgres", "db.example:5432/shop", engine.Table{Name: "public.orders"},
		[]string{"updated_at"}, []string{"tenant", "id"}); same != got {
		t.Error("op=upsert is the default, and changes the fingerprint")
	}
	cfg.Identity = "db.example:5432/shop"
	if same := fingerprint(cfg, "postgres", "replica.example:5432/shop", engine.Table{Name: "public.orders"},
		[]string{"updated_at"}, []string{"tenant", "id"}); same != got {
		t.Error("source__identity does not take the connection's place")
	}
}
