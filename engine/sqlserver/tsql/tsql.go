// Package tsql writes names and texts as Transact-SQL has them.
package tsql

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// Quote makes an identifier of a name.
func Quote(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// Literal makes a string of a text.
func Literal(text string) string { return "N'" + strings.ReplaceAll(text, "'", "''") + "'" }

// ObjectID is the id of a table whose changes are tracked.
func ObjectID(c *engine.ChangeTable) string { return "OBJECT_ID(" + Literal(c.Of) + ")" }

// ValidFrom is the version from which on its changes are still there.
func ValidFrom(c *engine.ChangeTable) string {
	return "CHANGE_TRACKING_MIN_VALID_VERSION(" + ObjectID(c) + ")"
}
