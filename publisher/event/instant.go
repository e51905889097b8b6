package event

import (
	"strings"
	"time"
)

// forms are those in which a time is stored as text, or written by Values.Instant.
var forms = []string{"2006-01-02 15:04:05", time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 -0700 MST", "2006-01-02"}

// parseInstant reads an instant in UTC.
func parseInstant(text string) (at time.Time, ok bool) {
	for _, form := range forms {
		if t, err := time.Parse(form, text); err == nil { // a fraction is read after the seconds of every form
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// read reads an instant in UTC as the drivers give it.
func read(v any) (at time.Time, ok bool) {
	switch v := v.(type) {
	case time.Time:
		return v.UTC(), true
	case []byte:
		return parseInstant(string(v))
	case string:
		return parseInstant(strings.TrimSpace(v))
	case int64:
		return time.Unix(v, 0).UTC(), true
	default:
		return time.Time{}, false
	}
}

// AsTime reads an instant in UTC as the drivers give it. SQLite holds whatever was stored: what is no time is the
// zero one.
func AsTime(v any) time.Time {
	at, _ := read(v)
	return at
}

// asLimit is read for a time up to, or from which something holds: that may be infinite in PostgreSQL.
func asLimit(v any) (at time.Time, ok bool) {
	switch text, _ := v.(string); text {
	case "infinity":
		return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), true
	case "-infinity":
		return time.Unix(0, 0).UTC(), true
	case "0000-00-00 00:00:00", "0000-00-00 00:00:00.000000":
		return time.Time{}, true
	}
	return read(v)
}
