//go:build !small

package bearer

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/rowrelay/rowrelay/output"
)

// Entra asks Microsoft Entra for tokens of a scope, by an identity.
func Entra(identity azcore.TokenCredential, scope string) Source {
	return func(ctx context.Context, fresh bool) (Token, error) {
		o := policy.TokenRequestOptions{Scopes: []string{scope}}
		if fresh {
			// What Entra itself asks for after a revocation: a token that begins now. The SDK passes its cache by.
			o.Claims = fmt.Sprintf(`{"access_token":{"nbf":{"essential":true,"value":"%d"}}}`, time.Now().Unix())
		}
		got, err := identity.GetToken(ctx, o)
		if err != nil {
			return Token{}, output.Errorf(err, "Microsoft Entra gave no token for %s (output__auth=entra): %v", scope, err)
		}
		return Token{Value: got.Token, Until: got.ExpiresOn}, nil
	}
}
