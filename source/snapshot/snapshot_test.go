package snapshot

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/poller"
)

func TestSnapshotText(t *testing.T) {
	for _, text := range []string{"5:5:", "5:9:7", "5:9:5,7,8",
		"18446744073709551614:18446744073709551615:18446744073709551614"} {
		s, err := Parse(text)
		if err != nil || s.String() != text {
			t.Errorf("%s: %s %v", text, s, err)
		}
	}
	s, err := Parse("5:20:5,7,9,12,15")
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]Snapshot{
		"5:20:5,7,9,12,15": s.AtMost(5), "5:12:5,7,9": s.AtMost(3), "5:5:": s.AtMost(0),
		"5:10:5,7,9": s.Below(10), "5:9:5,7": s.Below(9), "3:3:": s.Below(3),
	} {
		if got.String() != want {
			t.Errorf("%s, want %s", got, want)
		}
		if _, err := Parse(got.String()); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

// TestStandby: what a standby says is not taken.
func TestStandby(t *testing.T) {
	if _, err := ParseHeard("5:9:7|t|||"); !errors.Is(err, poller.ErrConfig) ||
		!strings.Contains(err.Error(), "primary") {
		t.Error(err)
	}
	h, err := ParseHeard("5:9:7|f|oid 7|12|3 4")
	if err != nil || h.Table != "oid 7" || h.Head != "12" || h.Floor != "3 4" {
		t.Error(h, err)
	}
}

// TestSnapshotsFitADocument: eight snapshots of the largest size leave room in a document.
func TestSnapshotsFitADocument(t *testing.T) {
	s := Snapshot{XMin: 1 << 63, XMax: 1<<64 - 1}
	for i := range uint64(5000) {
		s.XIP = append(s.XIP, 1<<63+i)
	}
	if n := 8 * len(s.AtMost(MaxOpen).String()); n > 56<<10 {
		t.Errorf("eight snapshots take %d bytes", n)
	}
}
