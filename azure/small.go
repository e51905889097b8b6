//go:build small

package azure

import (
	"context"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
)

// Brief changes nothing: the small program has no errors of Azure's SDK.
func Brief(err error) error { return err }

// Messages is not in the small program.
func Messages(context.Context, *config.Storage, string) (*int64, error) { return nil, change.ErrSmall }

// KeptFor is not in the small program.
func KeptFor(context.Context, *config.Storage) (int32, error) { return 0, change.ErrSmall }

// Versions is not in the small program.
func Versions(context.Context, *config.Storage, string, string) (blobs int, versions bool, err error) {
	return 0, false, change.ErrSmall
}
