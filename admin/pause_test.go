package admin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// full is a store whose disk is full: nothing can be written.
type full struct{ state.Store }

func (full) Replace(context.Context, string, []byte, state.Version) (state.Stamp, error) {
	return state.Stamp{}, errors.New("the disk is full")
}

// A person waits for pause and resume: where nothing can be written they end in time, and say why.
func TestPauseOnAFullDisk(t *testing.T) {
	for name, plan := range map[string]func(*Document, context.Context) (*Plan, error){
		"pause": (*Document).Pause, "resume": (*Document).Resume,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				if name == "resume" {
					f.pausedBy(&state.Paused{At: time.Now(), By: "ann"})
				}
				d := f.document(full{f.Store}, "orders")
				p, err := plan(d, t.Context())
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				if _, err := p.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
					t.Errorf("%v", err)
				}
				if took := time.Since(begun); took > amendBound {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
