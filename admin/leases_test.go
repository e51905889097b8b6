package admin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
)

// sharedLeases is a database's answers.
type sharedLeases struct {
	told engine.LeaseTold
	to   []int64
	err  error
}

func (l *sharedLeases) Show(context.Context) (engine.LeaseTold, error) { return l.told, l.err }

func (l *sharedLeases) Reset(_ context.Context, to int64) (engine.LeaseTold, error) {
	l.to = append(l.to, to)
	if l.told.Held == 0 && to > 0 {
		l.told.From = to
	}
	return l.told, nil
}

func (l *sharedLeases) Dead(context.Context) ([]source.DeadRow, error) {
	return []source.DeadRow{{Key: `{"id":7}`, Version: 3, Attempts: 5, Reason: "422"}}, nil
}

func (l *sharedLeases) Tables(context.Context) (engine.LeaseTables, poller.Origin, []string, error) {
	return engine.LeaseTables{Function: "0123", Leases: "Leases_0123_4"}, poller.Origin{}, nil, nil
}

func (l *sharedLeases) IsMissing(error) bool { return true }

func TestSharedReset(t *testing.T) {
	for to, c := range map[string]struct {
		sent int64
		held int
		err  string
	}{
		"beginning": {-1, 0, ""}, "latest": {-2, 0, ""}, "cursor=7": {7, 0, ""},
		"cursor=8": {8, 2, "2 leases are held"}, "cursor=99": {99, 0, "not among those that are retained, 3 to 20"},
		"cursor=-1": {err: "beginning, latest or cursor=VERSION"}, "snapshot": {err: "beginning, latest or cursor=VERSION"},
	} {
		l := &sharedLeases{told: engine.LeaseTold{Known: true, From: 5, Valid: 3, Head: 20, Held: c.held}}
		p, err := (&Shared{"orders", l}).Reset(t.Context(), to)
		if len(l.to) > 0 {
			t.Errorf("%s: the position was moved before the plan was applied", to)
		}
		said := Result{}
		if err == nil {
			if !strings.Contains(p.What, "moves from version 5") {
				t.Errorf("%s: %s", to, p.What)
			}
			said, err = p.Apply(t.Context())
			if len(l.to) != 1 || l.to[0] != c.sent {
				t.Errorf("%s: moved to %v", to, l.to)
			}
		}
		if c.err == "" && (err != nil || said.Text != "done") ||
			c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %q, %v; want %q", to, said.Text, err, c.err)
		}
	}
}

func TestSharedView(t *testing.T) {
	l := &sharedLeases{told: engine.LeaseTold{Known: true, From: 5, Valid: 3, Head: 20, Waiting: 9, Leased: 2, Foreign: 1}}
	v, err := (&Shared{"orders", l}).View(t.Context())
	if err != nil || v.Table != "[az_func].[Leases_0123_4]" {
		t.Fatal(v, err)
	}
	for _, want := range []string{"version 5 of 20", "9, of which 2 are leased", "somebody else holds 1 leases",
		`{"id":7}  version 3, 5 attempts: 422`} {
		if !strings.Contains(v.String(), want) {
			t.Errorf("%q is missing in\n%s", want, v)
		}
	}
	l.err = errors.New("no such table")
	if _, err := (&Shared{"orders", l}).View(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "no state yet") {
		t.Error(err)
	}
}
