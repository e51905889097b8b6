package sim

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
)

// TestRewritesDrawInOrder: where transactions commit at once, no two of them have one cursor value. Else the second row
// may come before the first by its key, and mode none rightly loses it (seed 17130).
func TestRewritesDrawInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands still
		w := &world{rng: rand.New(rand.NewPCG(1, 1)), began: time.Now(), pro: profile{Clock: true},
			names: map[string]string{}, versions: map[string]*version{}}
		w.table = newTable(w)
		low, high := w.table.insert(0), w.table.insert(0)
		w.table.rewrite(low)
		if low.cur.pos().compare(high.cur.pos()) <= 0 {
			t.Errorf("the row written last is at %v, the one before it at %v", low.cur.pos(), high.cur.pos())
		}
	})
}

// TestMayGoBack: by the document, a store's clock that jumped ahead looks like a database's that was set back
// (seed 24687).
func TestMayGoBack(t *testing.T) {
	for _, c := range []struct {
		mode             late.Mode
		clock, shaky, is bool
		jumps            float64
	}{
		{mode: late.Overlap, clock: true, shaky: true, is: true},
		{mode: late.Overlap, clock: true},
		{mode: late.Overlap, shaky: true},
		{mode: late.None, clock: true, shaky: true},
		{mode: late.None, clock: true, jumps: 0.1, is: true},
	} {
		w := &world{pro: profile{Clock: c.clock, Jumps: c.jumps}, store: &store{shaky: c.shaky}, output: &output{}}
		w.doc.Late.Mode = string(c.mode)
		if w.mayGoBack() != c.is {
			t.Errorf("%+v: %v", c, w.mayGoBack())
		}
	}
}
