//go:build !small

package host

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

// What a queue answered is said in one line, with a mend and without the URL, which may hold a SAS.
func TestFanoutErrors(t *testing.T) {
	const address = "https://shop.queue.core.windows.net/parts?sig=secret"
	for want, err := range map[string]error{
		"source__fanout_queue does not exist": &azcore.ResponseError{StatusCode: http.StatusNotFound,
			ErrorCode: string(queueerror.QueueNotFound)},
		"Azure Storage answered 403 AuthorizationPermissionMismatch: check what the setting names, and the identity's role": &azcore.ResponseError{
			StatusCode: http.StatusForbidden, ErrorCode: string(queueerror.AuthorizationPermissionMismatch)},
		"reaching source__fanout_connection: no such host": &url.Error{Op: "Post", URL: address,
			Err: errors.New("no such host")},
	} {
		got := fanoutError(err)
		if got == nil || !strings.Contains(got.Error(), want) || strings.Contains(got.Error(), "secret") ||
			strings.Contains(got.Error(), "\n") {
			t.Errorf("%v: want %q", got, want)
		}
	}
	if err := fanoutError(nil); err != nil {
		t.Error(err)
	}
}
