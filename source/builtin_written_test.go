package source_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// written says of each event which columns and which context it tells.
func written(events []change.Event) string {
	var told []string
	for i := range events {
		e := &events[i]
		text := e.Op.String() + " " + strings.Trim(string(e.Key), `{"id:}`)
		if w := e.Written; w != nil {
			text += w.Columns + w.Context
		}
		told = append(told, text)
	}
	return strings.Join(told, ", ")
}

// onePage is written of the next page.
func (f *follower) onePage(rows int) string {
	f.Helper()
	p, err := f.page(rows)
	if err != nil {
		f.Fatal(err)
	}
	return written(p.Events)
}

const (
	own     = "0x52454C59"
	columnV = `["v"]`
	other   = `["n\u00e4me"]`
	both    = `["n\u00e4me","v"]`
)

// TestBuiltInWritten: an update names the columns that were written since the position, at least, or none, which is
// any. Every change has the context of its last write.
func TestBuiltInWritten(t *testing.T) {
	t.Parallel()
	m := newTracked()
	m.Columns = true
	f := m.follow(t, plan.Config{})
	m.Commit("i 1 1", "i 2 1", "i 3 1", "i 4 1", "bare i 5 1", "i 6 1")
	f.want("inserts", f.onePage(10), "insert 1, insert 2, insert 3, insert 4, insert 5"+own+", insert 6")
	m.Commit("u 1 2", "n 2", "w 3", "u 4 1", "bare d 5")
	m.Commit("bare n 4", "d 6")
	m.Commit("i 6 2")
	f.want("updates", f.onePage(10), "update 1"+columnV+", update 2"+other+", update 3, delete 5"+own+", update 4"+
		both+own+", insert 6")
	events, err := f.src.Reread(t.Context(), [][]byte{[]byte(`{"id":4}`), []byte(`{"id":5}`)})
	if err != nil {
		t.Fatal(err)
	}
	f.want("a retry", written(events), "update 4"+own+", delete 5"+own)
	rows := f.snapshot()
	if p, err := f.src.Fetch(t.Context(), rows, poller.Limit{Rows: 10, Bytes: 1 << 20}); err != nil {
		t.Error(err)
	} else {
		f.want("the whole table", written(p.Events), "insert 1, insert 2, insert 3, insert 4"+own+", insert 6")
	}
	m.Columns = false
	m.Commit("u 1 3", "bare n 2")
	f.want("columns that are not tracked", f.onePage(10), "update 1, update 2"+own)
}

// TestBuiltInWrittenOutOfItsWindow: of a row that has left its window before its page was read, the next window's mask
// holds less than was written. None is told until all is read; where source__changed reads more, it is.
func TestBuiltInWrittenOutOfItsWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  plan.Config
		left string
	}{
		"all writes":      {plan.Config{}, "update 1, update 3"},
		"source__changed": {plan.Config{Changed: []string{"V"}}, "update 1" + columnV + ", update 3" + both},
	} {
		m := newTracked()
		m.Columns = true
		f := m.follow(t, c.cfg)
		m.Commit("i 1 1", "i 2 1", "i 3 1")
		f.onePage(10)
		m.Commit("u 1 2", "u 2 2", "u 3 2")
		f.want(name+": its first page", f.onePage(2), "update 1"+columnV+", update 2"+columnV)
		m.Commit("u 1 3")
		m.Commit("n 3")
		f.want(name+": its second page", f.onePage(2), "")
		f.want(name+": out of its window", f.onePage(10), c.left)
		m.Commit("u 3 3")
		f.want(name+": all was read", f.onePage(10), "update 3"+columnV)
	}
}

// TestBuiltInWrittenBelowTheFloor: the retention may pass a window's begin while its pages are read. A mask then begins
// there, and lacks what was written before.
func TestBuiltInWrittenBelowTheFloor(t *testing.T) {
	t.Parallel()
	m := newTracked()
	m.Columns = true
	f := m.follow(t, plan.Config{})
	m.Commit("i 1 1", "i 2 1")
	f.onePage(10)
	m.Commit("n 1")
	m.Commit("u 2 2")
	m.Commit("bare u 1 2")
	f.want("before", f.onePage(1), "update 2"+columnV)
	m.Clean(2)
	f.want("after", f.onePage(10), "update 1"+own)
}
