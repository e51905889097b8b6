package main

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// What the table says is no better than this judge.
func TestJudge(t *testing.T) {
	start := time.Now()
	r := &receiver{}
	for i, n := range []int{1, 3, 2, 2, 9} { // 3 overtakes 2, 2 comes again, 4 never comes, 9 is of another phase
		r.arrived = append(r.arrived, arrival{n, start.Add(time.Duration(i) * time.Second)})
	}
	events := map[int]event{1: {0, start}, 2: {0, start}, 3: {0, start}, 4: {1, start}, 9: {0, start}}
	got := r.judge(events, 0, 9)
	want := tally{events: 4, lost: 1, duplicated: 1, inverted: 1,
		p50: time.Second, p99: 2 * time.Second, took: 2 * time.Second, still: time.Second}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A body that is no event must not count as one that was accepted.
func TestReceiver(t *testing.T) {
	r, err := newReceiver(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.close() }()
	for body, want := range map[string]int{
		`{"n":1}`: 204, ` [{"n":2,"x":3},{"n":3}]`: 204,
		`{"x":1}`: 400, `[{"n":4},{}]`: 400, `n`: 400,
	} {
		answer, err := http.Post(r.url, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", body, answer.Status, want)
		}
	}
	if different, all := r.count(); different != 3 || all != 3 {
		t.Errorf("%d different, %d in all", different, all)
	}
}
