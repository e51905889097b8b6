package feed

import (
	"testing"
	"time"
)

func TestMargin(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Second / 2: 100 * time.Millisecond, time.Second: 100 * time.Millisecond, 10 * time.Second: time.Second,
		time.Minute: 2 * time.Second,
	} {
		if got := marginOf(ttl); got != want {
			t.Errorf("of %s it is %s, want %s", ttl, got, want)
		}
	}
}
