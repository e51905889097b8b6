package wiring

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
)

// sharing are the faults of outboxes a and b, whose settings are given behind their prefix.
func sharing(t *testing.T, connections []string, a, b string) (faults []config.Faults) {
	t.Helper()
	env := append([]string{"state__kind=memory", "pollers__a__output__kind=stdout", "pollers__b__output__kind=stdout",
		"pollers__a__source__mode=outbox", "pollers__b__source__mode=outbox"}, connections...)
	for name, list := range map[string]string{"a": a, "b": b} {
		connection, table, _ := strings.Cut(list, " ")
		env = append(env, "pollers__"+name+"__source__connection="+connection, "pollers__"+name+"__source__table="+table)
	}
	cfg, err := config.Load(env)
	if err != nil {
		t.Fatal(err)
	}
	wires := New(cfg, &Process{Out: io.Discard})
	t.Cleanup(func() { _ = wires.Close() })
	for _, w := range wires.Pollers {
		faults = append(faults, w.Faults)
	}
	return faults
}

// Two outboxes of one table would divide the events between their destinations.
func TestOutboxesThatShareATableAreRefused(t *testing.T) {
	connections := []string{"PG=postgres://u:p@h/shop", "PG2=postgres://other:p@H:5432/shop?sslmode=require",
		"PG3=postgres://u:p@h/other",
		"MY=mysql://u:p@h/shop", "LITE=sqlite:shop.db", "MS=Server=h;Database=shop;User Id=u;Password=p"}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"PG outbox", "PG outbox", true}, {"PG outbox", "PG2 public.outbox", true}, {"PG outbox", "PG3 outbox", false},
		{"PG outbox", "PG events", false},
		{"PG outbox", "PG sales.outbox", false}, {"PG outbox", "PG Outbox", false}, {"MY outbox", "MY shop.OUTBOX", true},
		{"MY outbox", "MY other.outbox", false},
		{"LITE outbox", "LITE main.Outbox", true}, {"MS outbox", "MS [dbo].[outbox]", true},
		{"MS outbox", "MS sales.outbox", false}, {"PG outbox", "MY outbox", false},
	} {
		faults := sharing(t, connections, c.a, c.b)
		if !c.same {
			if len(faults[0])+len(faults[1]) > 0 {
				t.Errorf("%s, %s: %v", c.a, c.b, faults)
			}
			continue
		}
		for i, other := range []string{"b", "a"} {
			if len(faults[i]) != 1 || !strings.Contains(faults[i][0].Problem, "pollers__"+other+"__source__table") ||
				faults[i][0].Mend == "" {
				t.Errorf("%s, %s: %v", c.a, c.b, faults[i])
			}
		}
	}
}

// A schedule whose days do not exist is a fault, not a clean-up that never comes.
func TestCleanupScheduleThatNeverFires(t *testing.T) {
	if _, err := cleanupSchedule("0 0 0 30 2 *"); err == nil || !strings.Contains(err.Error(), "never fires") {
		t.Error(err)
	}
	if s, err := cleanupSchedule("0 0 0 29 2 *"); err != nil || s == nil {
		t.Error(s, err)
	}
}

// So is one of ticks, which would show as healthy for ever.
func TestScheduleThatNeverFires(t *testing.T) {
	for text, want := range map[string]string{"0 0 0 31 2 *": "never fires", "0 0 0 29 2 *": ""} {
		w := &Poller{Wired: inspect.Wired{Config: &config.Poller{Name: "orders", Schedule: text}}}
		(&App{}).checkSchedule(w)
		if said := fmt.Sprint(w.Faults); (len(w.Faults) > 0) != (want != "") || !strings.Contains(said, want) {
			t.Errorf("%s: %s", text, said)
		}
	}
}

func TestCleanupBudgetLeavesRoom(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{5 * time.Minute: 270 * time.Second,
		40 * time.Second: 20 * time.Second, 0: 0} {
		if got := cleanupBudget(timeout); got != want {
			t.Errorf("%s: %s, want %s", timeout, got, want)
		}
	}
}
