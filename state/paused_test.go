package state_test

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// TestAPauseEndsByItself: by the store's clock, which is an hour ahead here, and only where it says so.
func TestAPauseEndsByItself(t *testing.T) {
	t.Parallel()
	for name, lasts := range map[string]time.Duration{"a minute": time.Minute, "for good": 0} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				k := f.keeper(f.store, ttl)
				s, err := k.Create(f.Context(), "sha256:abc", "", at1)
				f.must(err)
				p := &state.Paused{At: s.Now(), By: "ann"}
				if lasts > 0 {
					p.Until = s.Now().Add(lasts)
				}
				_, err = k.Amend(f.Context(), func(d *state.Document) error { d.Paused = p; return nil })
				f.must(err)
				paused := func() bool {
					s, err = k.Load(f.Context())
					f.must(err)
					return s.Paused() != nil
				}
				if !paused() || s.Doc.Paused.By != "ann" || !s.Doc.Paused.Until.Equal(p.Until.Truncate(time.Microsecond)) {
					f.Errorf("%+v", s.Doc.Paused)
				}
				time.Sleep(time.Minute - time.Second)
				if !paused() {
					f.Error("it is over too early")
				}
				time.Sleep(2 * time.Second)
				if paused() == (lasts > 0) {
					f.Errorf("after a minute it is in force: %t", lasts > 0)
				}
				if s.Doc.Paused == nil {
					f.Error("looking has changed the document")
				}
			})
		})
	}
}
