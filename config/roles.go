package config

import (
	"slices"
	"strings"
)

// roles are what a column of an outbox can be for: source__map__<role>.
var roles = []string{
	"id", "seq", "aggregate_type", "aggregate_id", "event_type", "payload", "created_at", "published", "published_at",
	"state", "attempts", "next_attempt_at", "last_error", "bucket", "idempotency_key", "traceparent", "tracestate",
}

// roleOptions are what else source__map__ says of a table.
var roleOptions = []string{"pending", "done", "on_published"}

// roleName takes the name of a role or option.
func roleName(key string) (string, *flaw) {
	if slices.Contains(roles, key) || slices.Contains(roleOptions, key) {
		return key, nil
	}
	return "", &flaw{"names no role of an outbox's column",
		"Write one of " + strings.Join(slices.Concat(roles, roleOptions), ", ")}
}

func codeList(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }
