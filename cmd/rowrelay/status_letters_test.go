package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/status"
)

// TestManyDeadLettersAtOnce: the page's replay and purge of several, each with its line in the audit.
func TestManyDeadLettersAtOnce(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__max_attempts"] = "1"
	s.receiver(`"changed":2`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (20, 20, ''), (21, 21, ''), (22, 22, ''), (23, 23, ''), (30, 30, '')`)
	for range 4 {
		s.tick()
	}
	o := s.want("dead-lettered", status.DeadLettered)
	if len(o.Letters) != 4 {
		t.Fatalf("%+v", o.Letters)
	}
	s.receiver("", false)
	slices.SortFunc(o.Letters, func(a, b status.Letter) int { return strings.Compare(a.Key, b.Key) })
	ids := func(letters []status.Letter) (all []string) {
		for _, l := range letters {
			all = append(all, l.ID)
		}
		return all
	}
	side, log := s.page()
	counted := func(want int64) {
		t.Helper()
		all := side.Operator.Board.DeadLetters(t.Context())
		if len(all) != 1 || all[0].Poller != "orders" || all[0].DeadLetters != want {
			t.Errorf("%+v dead letters for metrics, want %d", all, want)
		}
	}
	counted(4)
	replayed, purged := ids(o.Letters[:2]), ids(o.Letters[2:])
	s.says(side.Operator.Replay(t.Context(), "orders", "", replayed, "ann"))("The 2 rows will be read again")
	s.says(side.Operator.Purge(t.Context(), "orders", "", purged, "bob"))("Deleted for good: 2.")
	counted(0)
	if _, err := side.Operator.Purge(t.Context(), "orders", "", purged, "bob"); err == nil {
		t.Error("they were purged twice")
	}
	for name, of := range map[string][]string{`"deadletter_replayed","poller":"orders","output":"","by":"ann"`: replayed,
		`"deadletter_purged","poller":"orders","output":"","by":"bob"`: purged} {
		for _, id := range of {
			if want := fmt.Sprintf(`"event":%s,"id":"%s"`, name, id); strings.Count(log.String(), want) != 1 {
				t.Errorf("the audit lacks %s: %s", want, log)
			}
		}
	}
	s.tick()
	if o := s.want("decided", status.Healthy); o.DeadLetters != 0 || o.Parked != 0 {
		t.Errorf("%+v", o)
	}
}

// TestAReplayThatIsDoneInPart: a row that is gone keeps its record. The answer says how many of the others were handed
// over beside why it was not.
func TestAReplayThatIsDoneInPart(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__max_attempts"] = "1"
	s.receiver(`"id":2,`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')`)
	s.tick()
	s.receiver(`"id":4,`, false)
	s.execute(`INSERT INTO orders VALUES (4, 4, ''), (5, 5, '')`)
	s.tick()
	o := s.want("dead-lettered", status.DeadLettered)
	if len(o.Letters) != 2 {
		t.Fatalf("%+v", o.Letters)
	}
	s.execute(`DELETE FROM orders WHERE id = 2`)
	side, _ := s.page()
	ids := []string{o.Letters[0].ID, o.Letters[1].ID}
	text, err := side.Operator.Replay(t.Context(), "orders", "", ids, "ann")
	refusal := new(status.Refusal)
	if text != "1 of the 2 rows will be read again and delivered with the next tick." || !errors.As(err, &refusal) ||
		!strings.Contains(err.Error(), "1 of 2 dead letter(s) are kept") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := side.Operator.Replay(t.Context(), "orders", "", ids[:1], "ann"); text != "" || err == nil {
		t.Errorf("nothing was done: %q, %v", text, err)
	}
}
