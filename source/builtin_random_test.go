package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestBuiltInRandomly lets a writer, a clean-up and a reader that crashes interleave: the reader's last state of every
// key is the table's, or a gap was reported, and then there was one. An update that names columns names all that were
// written since the receiver knew the key.
func TestBuiltInRandomly(t *testing.T) {
	t.Parallel()
	for _, cfg := range []plan.Config{{}, {Changed: []string{"v"}}, {Ignored: "0x52454c59"}}[:quick.Runs(3, 1)] {
		builtInRandomly(t, cfg)
	}
}

// builtInRuns is how many random lives are led with each setting.
const builtInRuns = 120

func builtInRandomly(t *testing.T, cfg plan.Config) {
	gaps := 0
	for seed := range quick.Runs[uint64](builtInRuns, 40) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
		m := newTracked()
		f := m.follow(t, cfg)
		m.Columns = !cfg.LeavesWrites() // else writes are left out, and nobody waits for their columns
		stored := f.at
		gap := false
		for range 150 {
			switch n := random.IntN(20); {
			case n < 8:
				m.writeAny(random)
			case n < 9:
				m.cleanAny(random)
			case n < 10:
				f.at = stored // it crashed
			default:
				for i := range m.meanwhile {
					if random.IntN(4) == 0 {
						m.meanwhile[i] = func() { m.writeAny(random) }
					} else if random.IntN(20) == 0 {
						m.meanwhile[i] = func() { m.cleanAny(random) }
					}
				}
				at := f.at
				_, err := f.page(1 + random.IntN(4))
				m.meanwhile = [2]func(){}
				if gap = err != nil; gap {
					f.mustBeGap(at, err)
				} else if random.IntN(2) == 0 {
					stored = f.at
				}
			}
			if gap {
				gaps++
				break
			}
		}
		for more := !gap; more; {
			at := f.at
			p, err := f.page(3)
			if gap = err != nil; gap {
				f.mustBeGap(at, err)
			}
			more = p.More
		}
		if gap {
			continue
		}
		for id := range int64(8) {
			key := strconv.FormatInt(id, 10)
			want := ""
			if v, there := m.Rows[id]; there {
				want = strconv.FormatInt(v, 10)
			}
			since := []string{want}
			if m.context {
				since = append(since, m.States[id]...) // one's own writes may be missing
				if m.Others[id] == 0 {
					since = append(since, "")
				}
			}
			if !slices.Contains(since, f.got[key]) {
				t.Fatalf("seed %d: %s is %q, and the receiver has %q", seed, key, since, f.got[key])
			}
		}
	}
	most := builtInRuns * 60 / 100
	if cfg.LeavesWrites() {
		most = builtInRuns * 96 / 100 // changes are needed for longer: since the window before
	}
	if gaps == 0 || gaps > most {
		t.Errorf("%d of %d ended at a gap", gaps, builtInRuns)
	}
}

// writeAny commits a transaction of a few writes, also several of one key.
func (m *tracked) writeAny(random *rand.Rand) {
	now, work := maps.Clone(m.Rows), []string{}
	for range 1 + random.IntN(4) {
		id, v := int64(random.IntN(8)), random.Int64N(1000)
		_, there := now[id]
		switch {
		case !there:
			work = append(work, fmt.Sprintf("i %d %d", id, v))
			now[id] = v
		case random.IntN(3) == 0:
			work = append(work, fmt.Sprintf("d %d", id))
			delete(now, id)
		case (m.columns || m.Columns) && random.IntN(2) == 0:
			work = append(work, fmt.Sprintf("n %d", id))
		default:
			work = append(work, fmt.Sprintf("u %d %d", id, v))
		}
	}
	for i := range work {
		if m.context && random.IntN(2) == 0 {
			work[i] = "own " + work[i]
		}
	}
	m.Commit(work...)
}

func (m *tracked) cleanAny(random *rand.Rand) {
	m.Clean(max(m.Valid, m.Current-5-int64(random.IntN(30))))
}

// mustBeGap: changes after the position are not retained any more.
func (f *follower) mustBeGap(at change.Cursor, err error) {
	f.Helper()
	var s struct {
		Value      int64
		Tiebreaker json.RawMessage
		Window     []json.Number
	}
	if !errors.Is(err, poller.ErrGap) {
		f.Fatal(err)
	}
	if err := json.Unmarshal(at, &s); err != nil {
		f.Fatal(err)
	}
	if n := len(s.Window); n > 0 && f.m.columns { // what was written is known from there on, or is not
		s.Value, _ = s.Window[n-1].Int64()
		s.Tiebreaker = nil
	}
	if s.Value > f.m.Valid || s.Value == f.m.Valid && s.Tiebreaker == nil {
		f.Errorf("%s is no gap: everything after %d is there: %v", at, f.m.Valid, err)
	}
}
