//go:build !small

package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/state/blobstore"
)

// answerError is an answer of Azure's in one line: the SDK's own text is the whole of it.
type answerError struct {
	status int
	code   string
}

func (e *answerError) Error() string { return fmt.Sprintf("HTTP %d %s", e.status, e.code) }

// Is tells what the login may not ask from what is not there.
func (e *answerError) Is(target error) bool {
	return target == ErrDenied && e.status == http.StatusForbidden ||
		target == ErrNoContainer && e.code == string(bloberror.ContainerNotFound) ||
		target == ErrNoQueue && e.code == string(queueerror.QueueNotFound)
}

// Brief is an error of Azure's SDK in one line, without the URL of the request: it may hold a shared access signature.
func Brief(err error) error {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return &answerError{answer.StatusCode, answer.ErrorCode}
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// Messages says about how many messages a queue holds. A login that may only send is denied.
func Messages(ctx context.Context, s *config.Storage, queue string) (*int64, error) {
	client, err := Queue(s, queue)
	if err != nil {
		return nil, err
	}
	answer, err := client.GetProperties(ctx, nil)
	return answer.ApproximateMessagesCount, Brief(err)
}

// KeptFor is for how many days soft delete keeps what was overwritten. It takes a right on the account that the app
// need not have.
func KeptFor(ctx context.Context, s *config.Storage) (days int32, err error) {
	options := &service.ClientOptions{ClientOptions: blobstore.ClientOptions().ClientOptions}
	var client *service.Client
	if s.ConnectionString != "" {
		client, err = service.NewClientFromConnectionString(s.ConnectionString.Reveal(), options)
	} else {
		var credential azcore.TokenCredential
		if credential, err = Credential(s.Identity); err == nil {
			client, err = service.NewClient(s.BlobServiceURI, credential, options)
		}
	}
	if err != nil {
		return 0, errors.New("no client for the service")
	}
	answer, err := client.GetProperties(ctx, nil)
	if err != nil {
		return 0, Brief(err)
	}
	policy := answer.DeleteRetentionPolicy
	if policy == nil || policy.Enabled == nil || !*policy.Enabled || policy.Days == nil {
		return 0, nil
	}
	return *policy.Days, nil
}

// mostListed bounds how many blobs are listed for their versions.
const mostListed = 10

// Versions lists some of the blobs below a prefix, and says whether one has a version: the service's properties do not.
func Versions(ctx context.Context, s *config.Storage, containerName, prefix string) (blobs int, versions bool,
	err error) {
	client, err := Container(s, containerName)
	if err != nil {
		return 0, false, errors.New("no client for the container")
	}
	most := int32(mostListed)
	answer, err := client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Prefix: &prefix, MaxResults: &most, Include: container.ListBlobsInclude{Versions: true},
	}).NextPage(ctx)
	if err != nil {
		return 0, false, Brief(err)
	}
	for _, item := range answer.Segment.BlobItems {
		blobs++
		versions = versions || item.VersionID != nil && *item.VersionID != ""
	}
	return blobs, versions, nil
}
