package event

import (
	"strings"
	"time"
)

// parseInstant reads an instant in UTC. SQLite holds whatever was stored: what is no time is the zero one.
func parseInstant(text string) time.Time {
	for _, form := range []string{"2006-01-02 15:04:05", time.RFC3339, "2006-01-02T15:04:05",
		"2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05 -0700 MST", "2006-01-02"} {
		if t, err := time.Parse(form, text); err == nil { // a fraction is read after the seconds of every form
			return t.UTC()
		}
	}
	return time.Time{}
}

// AsTime reads an instant in UTC as the drivers give it. SQLite holds whatever was stored: what is no time is the
// zero one.
func AsTime(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return v.UTC()
	case []byte:
		return parseInstant(string(v))
	case string:
		return parseInstant(strings.TrimSpace(v))
	case int64:
		return time.Unix(v, 0).UTC()
	default:
		return time.Time{}
	}
}
