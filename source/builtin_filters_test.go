package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/source/plan"
)

// TestBuiltInOnlyInserts: an insert is told although its row was written again before its page was read, also where no
// update is wanted.
func TestBuiltInOnlyInserts(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{Operations: []string{"insert"}})
	inserted := func(from, to int) {
		for i := from; i <= to; i++ {
			m.Commit(fmt.Sprintf("i %d 1", i))
		}
	}
	inserted(1, 9)
	for page, more := 1, true; more; page++ {
		p, err := f.page(3)
		if err != nil {
			t.Fatal(err)
		}
		more = p.More
		switch page { // the row leaves the window, and then the next one
		case 1:
			m.Commit("u 6 2", "u 8 2")
			inserted(10, 14)
		case 4:
			m.Commit("u 8 3")
		}
	}
	told := strings.Join(f.told, ", ") + ","
	for i := 1; i <= 14; i++ {
		if !strings.Contains(told, fmt.Sprintf("insert %d=", i)) {
			t.Errorf("the insert of %d was not told: %s", i, told)
		}
	}
	f.told = nil
	m.Commit("u 1 9", "u 8 9")
	f.want("updates", f.read(3), "")
}

// TestBuiltInChanged: an update is told where one of the columns was written since all was told, also where another was
// written after it, and where its row has left the window before its page was read.
func TestBuiltInChanged(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{Changed: []string{"V"}})
	m.Commit("i 1 1", "i 2 1", "i 3 1", "i 4 1")
	f.want("inserts", f.read(2), "insert 1=1, insert 2=1, insert 3=1, insert 4=1")
	f.want("nothing", f.read(2), "")
	m.Commit("n 1")
	at := f.at
	f.want("another column", f.read(2), "")
	if at.Equal(f.at) {
		t.Errorf("the position stays at %s", at)
	}
	m.Commit("u 1 2", "u 2 2")
	m.Commit("n 1")
	m.Commit("n 3")
	m.Commit("d 4", "n 2")
	f.want("all of it", f.read(1), "update 1=2, update 2=2, delete 4")
	f.want("nothing more", f.read(1), "")
	m.Commit("n 1", "u 3 3")
	m.Commit("u 2 3")
	if _, err := f.page(1); err != nil { // the first key, which is left out; the window has two more
		t.Fatal(err)
	}
	m.Commit("n 2") // it leaves the window
	f.want("out of its window", f.read(1), "update 3=3, update 2=3")
}

// TestBuiltInContext: of several writes the server tells the context of the last one only. One's own are left out where
// their context says that others have not written since what was delivered; one that does not say it hides nothing.
func TestBuiltInContext(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{Ignored: "0x52454c59"})
	m.Commit("i 1 1", "i 2 1", "i 3 1")
	f.want("others", f.read(10), "insert 1=1, insert 2=1, insert 3=1")
	m.Commit("own u 1 2", "own d 3", "own i 4 1")
	f.want("one's own", f.read(2), "")
	m.Commit("u 1 3")
	m.Commit("own u 1 4")
	m.Commit("own u 1 5")
	f.want("another's, then one's own", f.read(2), "update 1=5")
	m.Commit("own u 1 6")
	m.Commit("u 1 7")
	f.want("one's own, then another's", f.read(2), "update 1=7")
	m.Commit("d 2")
	m.Commit("own i 2 9")
	f.want("another's delete, then one's own insert", f.read(2), "insert 2=9")
	m.Commit("bare u 1 8")
	f.want("a context that does not say what others did", f.read(2), "update 1=8")
	m.Commit("i 5 1", "i 6 1", "i 7 1")
	if _, err := f.page(1); err != nil {
		t.Fatal(err)
	}
	m.Commit("own u 7 2") // it leaves the window
	f.want("out of its window", f.read(1), "insert 5=1, insert 6=1, update 7=2")
}
