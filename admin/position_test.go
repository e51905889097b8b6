package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// written is the path of a file with an export.
func (f *fixture) written(x *Export) string {
	f.t.Helper()
	data, err := json.Marshal(x)
	if err != nil {
		f.t.Fatal(err)
	}
	path := filepath.Join(f.t.TempDir(), "orders.json")
	testfile.Write(f.t, path, string(data))
	return path
}

func TestExportIsReadBack(t *testing.T) {
	f := newFixture(t)
	x, err := f.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := f.written(x)
	m, err := f.Reset(t.Context(), &Reset{To: "latest"})
	f.apply(&m.Plan, err)
	m, err = f.Reset(t.Context(), &Reset{To: "file=" + path})
	f.apply(&m.Plan, err)
	if got := f.doc().Checkpoint.Cursor; number(got) != 5 {
		t.Errorf("it is at %s", got)
	}
	f.table.incarnation = "db2"
	if _, err := f.Reset(t.Context(), &Reset{To: "file=" + path}); err == nil ||
		!strings.Contains(err.Error(), "another database") {
		t.Errorf("of a restored database: %v", err)
	}
}

// TestExportBesideAGap: a position before which rows may be missing hides that where a file is read back, on either
// side.
func TestExportBesideAGap(t *testing.T) {
	f := newFixture(t)
	before, err := f.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.gap("it is ahead")
	since, err := f.Export(t.Context())
	if err != nil || since.Gap != "it is ahead" {
		t.Fatalf("%+v, %v", since, err)
	}
	refused := func(x *Export) {
		t.Helper()
		if m, err := f.Reset(t.Context(), &Reset{To: "file=" + f.written(x)}); err == nil ||
			!strings.Contains(err.Error(), "found a gap (it is ahead)") {
			t.Errorf("%+v, %v", m, err)
		}
	}
	refused(since)
	refused(before)
	f.gap("")
	refused(since)
	m, err := f.Reset(t.Context(), &Reset{To: "file=" + f.written(before)})
	f.apply(&m.Plan, err)
}

// A parked row is not passed by an export, which is all that is left where the store is lost. Of those whose places are
// not known the number stands in the file. A blocked one has a dead letter, and what waits behind it has none.
func TestExportOfParkedEvents(t *testing.T) {
	for name, c := range map[string]struct {
		entries       []parking.Entry
		want, unknown int
	}{
		"known": {[]parking.Entry{{Cursor: at(4), Key: keyOf(4), OrderKey: keyOf(4)},
			{Cursor: at(2), Key: keyOf(2), OrderKey: keyOf(2)},
			{Cursor: at(3), Key: keyOf(3), OrderKey: keyOf(3)}}, 1, 0},
		"the last that was delivered": {[]parking.Entry{{Cursor: at(5), Key: keyOf(5), OrderKey: keyOf(5)}}, 4, 0},
		"replayed":                    {[]parking.Entry{{Key: keyOf(2), OrderKey: keyOf(2)}}, 5, 1},
		"with followers": {[]parking.Entry{{Cursor: at(4), Key: keyOf(4), OrderKey: []byte("1"),
			Followers: rawKeys(2, 5)}}, 3, 2},
		"of a snapshot": {[]parking.Entry{{Cursor: at(0), Key: keyOf(2), OrderKey: keyOf(2)}}, 5, 1},
		"blocked": {[]parking.Entry{{ID: "e1", Cursor: at(2), Key: keyOf(2), OrderKey: []byte("1"), Blocked: true,
			Followers: rawKeys(5)}}, 5, 1},
		"waited at": {[]parking.Entry{{Cursor: at(6), Key: keyOf(6), OrderKey: []byte("[]")}}, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.MaxParked = 10
			f.parks(c.entries...)
			x, err := f.Export(t.Context())
			if err != nil || number(x.Position) != c.want || x.ParkedUnknown != c.unknown ||
				(x.Missing() != "") != (c.unknown > 0) {
				t.Fatalf("%+v, %v", x, err)
			}
			m, err := f.Reset(t.Context(), &Reset{To: "file=" + f.written(x), Parked: "drop"})
			if err != nil || !strings.Contains(m.What, x.Missing()) ||
				strings.Contains(m.What, "may never be delivered") != (c.unknown > 0) {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

// TestExportOfALostObject: the position can still be had, and the parked rows are counted as those of unknown places.
func TestExportOfALostObject(t *testing.T) {
	f := newFixture(t)
	lost := &state.ObjectRef{Object: "parked-" + strings.Repeat("0", 32), Count: 3}
	if err := f.held().Commit(t.Context(), state.Commit{From: at(5), To: at(5), Parked: lost, Release: true}); err != nil {
		t.Fatal(err)
	}
	if x, err := f.Export(t.Context()); err != nil || number(x.Position) != 5 || x.ParkedUnknown != 3 {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestResetToAPositionThatDoesNotFit: a file that was changed by hand would put a position into the document that no
// tick can read, over the one that is there.
func TestResetToAPositionThatDoesNotFit(t *testing.T) {
	f := newFixture(t)
	x, err := f.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.table.err = fmt.Errorf("%w: its kind is not that of the settings", poller.ErrConfig)
	if m, err := f.Reset(t.Context(), &Reset{To: "file=" + f.written(x)}); !errors.Is(err, poller.ErrConfig) {
		t.Errorf("%+v, %v", m, err)
	}
}
