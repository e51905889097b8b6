package demo

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func openReceiver(t *testing.T) *Receiver {
	t.Helper()
	r, err := OpenReceiver(t.Context(), filepath.Join(t.TempDir(), "receiver.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func openShop(t *testing.T) *Shop {
	t.Helper()
	db, err := OpenFile(filepath.Join(t.TempDir(), "100% shop?.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := NewShop(db, "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func post(t *testing.T, r *Receiver, body string) int {
	t.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", strings.NewReader(body)))
	return w.Code
}

func event(id, version int64) string {
	return fmt.Sprintf(`{"id":"e","data":{"id":%d,"version":%d,"status":"new","written_at":"2026-04-07T01:23:45.123456Z"}}`, id, version)
}

func TestReceiverKeepsEachVersionOnce(t *testing.T) {
	r := openReceiver(t)
	for _, body := range []string{
		"[" + event(1, 1) + "," + event(2, 3) + "]",
		"[" + event(1, 1) + "," + event(2, 2) + "]", // a duplicate, and one that comes too late
	} {
		if code := post(t, r, body); code != http.StatusNoContent {
			t.Fatalf("status %d", code)
		}
	}
	for _, body := range []string{"", "{}", `[{"data":{"id":"x"}}]`} {
		if code := post(t, r, body); code != http.StatusBadRequest {
			t.Errorf("%q: status %d", body, code)
		}
	}
	got, err := r.Totals(t.Context())
	if want := (Totals{Events: 4, Duplicates: 1, Inverted: 1}); err != nil || got != want || got.Kept() != 3 {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
	if n, err := r.Beyond(t.Context(), 1); err != nil || n != 2 {
		t.Errorf("beyond 1: %d (%v)", n, err)
	}
	if orders, lag := r.Recent(); len(orders) != 4 || lag < time.Hour {
		t.Errorf("recent %v, lag %s", orders, lag)
	}
}

// A receiver that cannot keep what it got must not vouch for it.
func TestReceiverWithoutDiskFails(t *testing.T) {
	r, err := OpenReceiver(t.Context(), filepath.Join(t.TempDir(), "receiver.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if code := post(t, r, "["+event(1, 1)+"]"); code != http.StatusInternalServerError {
		t.Errorf("status %d", code)
	}
}

func TestCompare(t *testing.T) {
	s, r := openShop(t), openReceiver(t)
	orders, err := s.Write(t.Context(), 1)
	for range 400 {
		if err != nil {
			t.Fatal(err)
		}
		var more []Order
		more, err = s.Write(t.Context(), 1)
		orders = append(orders, more...)
	}
	// Order 70 was paid in version 210: its first version is overtaken unless it arrived.
	var skipped Order
	for _, o := range orders {
		switch {
		case o.ID == 70 && o.Status == "new", o.Version == 380, o.Version > 390:
			skipped = o
			continue
		}
		if code := post(t, r, "["+event(o.ID, o.Version)+"]"); code != http.StatusNoContent {
			t.Fatalf("status %d", code)
		}
	}
	if skipped.Version != 401 {
		t.Fatalf("the last order is %v", skipped)
	}
	got, err := Compare(t.Context(), s, r, 390)
	if err != nil || got.Written != 390 || got.Received != 388 || got.Overtaken != 1 || got.Missing != 1 ||
		len(got.First) != 1 || got.First[0].Version != 380 {
		t.Errorf("got %+v (%v)", got, err)
	}
	if got, err := Compare(t.Context(), s, r, 1000); err != nil || got.Missing != 12 || len(got.First) != 5 {
		t.Errorf("got %+v (%v)", got, err)
	}
	text := got.Summary(Totals{Duplicates: 3})
	if !strings.HasPrefix(text, "written 390, received 388, missing 1, duplicates 3\n") ||
		!strings.Contains(text, "overtaken") {
		t.Error(text)
	}
}

func TestWaiting(t *testing.T) {
	s := openShop(t)
	if _, err := s.Write(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if n, oldest, err := s.Waiting(t.Context(), 3); err != nil || n != 2 || oldest.IsZero() {
		t.Errorf("%d %v %v", n, oldest, err)
	}
	if n, oldest, err := s.Waiting(t.Context(), 5); err != nil || n != 0 || !oldest.IsZero() {
		t.Errorf("%d %v %v", n, oldest, err)
	}
}

// A block is drawn over itself: its height depends on nothing but rows, and no line is wider than the terminal.
func TestBlockFits(t *testing.T) {
	full := &View{
		Written: 1 << 40, Position: strings.Repeat("é", 300), Trouble: "a\nb\x1b[2J" + strings.Repeat("x", 300),
		Sent: make([]Order, 40), Arrived: make([]Order, 3),
	}
	for _, width := range []int{20, 80, 200} {
		for _, v := range []*View{{}, full} {
			lines := v.Block(width, 8)
			if len(lines) != len((&View{}).Block(width, 8)) {
				t.Errorf("%d lines", len(lines))
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n >= width || strings.ContainsAny(line, "\n\x1b") {
					t.Errorf("width %d: %d columns in %q", width, n, line)
				}
			}
		}
	}
}

func TestPosition(t *testing.T) {
	for cursor, want := range map[string]int64{
		"": 0, "null": 0, "{": 0, `{"kind":"integer+pk","value":12,"tiebreaker":{"id":7}}`: 12,
	} {
		if got, _ := Position([]byte(cursor)); got != want {
			t.Errorf("%q: %d", cursor, got)
		}
	}
}
