package sqlserver

import (
	"errors"
	"testing"

	"github.com/rowrelay/rowrelay/change"
)

func TestIdentityConnection(t *testing.T) {
	for _, c := range []struct{ name, server, database, credential, client, want string }{
		{"system-assigned", "Shop.database.windows.net", "shop", "managedidentity", "", "shop.database.windows.net/shop"},
		{"user-assigned", "tcp:shop.database.windows.net,1433", "shop", "ManagedIdentity", "0f0e",
			"shop.database.windows.net/shop"},
		{"developer", "shop.database.windows.net", "shop", "", "", "shop.database.windows.net/shop"},
		{"no server", "", "shop", "", "", ""},
		{"no database", "db1", "", "", "", ""},
		{"unknown credential", "db1", "shop", "password", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := IdentityConnection(c.server, c.database, c.credential, c.client)
			if c.want == "" {
				if !errors.Is(err, change.ErrConfig) {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			if err != nil || got.Identity != c.want || got.Engine != "sqlserver" {
				t.Fatalf("got %s %s, %v", got.Engine, got.Identity, err)
			}
		})
	}
}
