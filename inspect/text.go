package inspect

import (
	"strings"
	"time"
)

// Plain is a duration without parts that are zero: 2m36s, 1h, 0s.
func Plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
