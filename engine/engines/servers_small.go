//go:build small

package engines

import (
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

var servers map[string]server

// ByIdentity is not in the small program.
func ByIdentity(_, _, _, _ string) (engine.Connection, error) {
	return engine.Connection{}, change.ErrSmall
}
