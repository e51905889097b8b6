// Package blobstore keeps state documents as blobs of one Azure Storage container: for Azure Functions, where the
// storage account of the app is at hand (state__kind=blob). Conditional writes by ETag make it linearizable.
//
// The identity that the app runs under needs the role Storage Blob Data Contributor on the container. The container is
// created only when the store is told to; locally the same code runs against Azurite.
package blobstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/rowrelay/rowrelay/state"
)

// margin is how far the clocks of a storage account's front ends, read at the Date header's resolution of one second,
// may be apart.
const margin = 2 * time.Second

// Config says where the documents are.
type Config struct {
	// Client is the container's client, best made with [ClientOptions].
	Client *container.Client
	// Create makes the container when it is missing (state__create=true, and always on Azurite).
	Create bool
}

// tryTimeout bounds one request, with its body, of up to a MiB to send or a chunk to read.
const tryTimeout = 10 * time.Second

// ClientOptions are the options for [Config.Client]. One repetition inside the SDK covers a dropped connection; the
// rest is the caller's, who knows how long a lease lasts.
func ClientOptions() *container.ClientOptions {
	return &container.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: retryOptions(tryTimeout)}}
}

func retryOptions(timeout time.Duration) policy.RetryOptions {
	return policy.RetryOptions{MaxRetries: 1, TryTimeout: timeout, RetryDelay: 100 * time.Millisecond,
		MaxRetryDelay: time.Second}
}

// Store is a [state.Store] in a container.
type Store struct {
	client *container.Client
	name   string // of the container, for messages
	create bool
}

// New returns a Store. It does not connect.
func New(cfg Config) (*Store, error) {
	if cfg.Client == nil {
		return nil, errors.New("blobstore: a container client is required")
	}
	parts, err := blob.ParseURL(cfg.Client.URL())
	if err != nil {
		// The URL may carry a signature: it is not quoted.
		return nil, errors.New("blobstore: the container's URL cannot be read")
	}
	return &Store{client: cfg.Client, name: parts.ContainerName, create: cfg.Create}, nil
}

// Margin implements [state.Store].
func (*Store) Margin(time.Duration) time.Duration { return margin }

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	anything := azcore.ETagAny
	condition := &blob.ModifiedAccessConditions{IfNoneMatch: &anything}
	stamp, err := s.upload(ctx, key, data, condition)
	if bloberror.HasCode(err, bloberror.ContainerNotFound) && s.create {
		if err := s.createContainer(ctx); err != nil {
			return state.Stamp{}, err
		}
		stamp, err = s.upload(ctx, key, data, condition)
	}
	return stamp, s.explain("creating a state document", err)
}

// Replace implements [state.Store].
func (s *Store) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	if version == "" { // no blob has it, and an empty condition would be none
		return state.Stamp{}, state.ErrConflict
	}
	tag := azcore.ETag(version)
	stamp, err := s.upload(ctx, key, data, &blob.ModifiedAccessConditions{IfMatch: &tag})
	return stamp, s.explain("writing a state document", s.conflictIfGone(err))
}

// List implements [state.Store].
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	keys, _, err := s.ListSome(ctx, prefix, math.MaxInt)
	return keys, err
}

// ListSome is List that ends once it has so many keys: a page of them takes a request, and there may be very many. All
// says that it has come to the end.
func (s *Store) ListSome(ctx context.Context, prefix string, enough int) (keys []string, all bool, err error) {
	pages := s.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix})
	for pages.More() && len(keys) < enough {
		page, err := pages.NextPage(ctx)
		if bloberror.HasCode(err, bloberror.ContainerNotFound) && s.create {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, s.explain("listing state documents", err)
		}
		if page.Segment == nil {
			return nil, false, s.explain("listing state documents", errForeign)
		}
		for _, item := range page.Segment.BlobItems {
			if item.Name != nil {
				keys = append(keys, *item.Name)
			}
		}
	}
	slices.Sort(keys)
	return keys, !pages.More(), nil
}

// Delete implements [state.Store].
func (s *Store) Delete(ctx context.Context, key string, version state.Version) error {
	tag := azcore.ETag(version)
	_, err := s.client.NewBlobClient(key).Delete(ctx, &blob.DeleteOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &tag}},
	})
	return s.explain("deleting a state document", s.conflictIfGone(err))
}

// createContainer makes the container, once; another may have been quicker.
func (s *Store) createContainer(ctx context.Context) error {
	_, err := s.client.Create(ctx, nil)
	if err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return s.explain(fmt.Sprintf("creating the container %s", s.name), err)
	}
	return nil
}

// errForeign: the answer is not the service's.
var errForeign = errors.New("what answered is not Azure Storage: look for a proxy or a login page on the way to it")

// stampOf reads the store's clock off an answer. Without it, nobody could judge when a lease ends.
func stampOf(tag *azcore.ETag, date *time.Time) (state.Stamp, error) {
	if tag == nil || date == nil {
		return state.Stamp{}, errForeign
	}
	return state.Stamp{Version: state.Version(*tag), Now: *date}, nil
}

// conflictIfGone: a condition on a blob that does not exist is not met, whichever way the service says so.
func (s *Store) conflictIfGone(err error) error {
	if bloberror.HasCode(err, bloberror.BlobNotFound) || s.create && bloberror.HasCode(err, bloberror.ContainerNotFound) {
		return state.ErrConflict
	}
	return err
}

// azurite reports whether the account is the emulator's, whose name is the same everywhere and stands in the path of
// its URL.
func (s *Store) azurite() bool {
	u, err := url.Parse(s.client.URL())
	return err == nil && strings.HasPrefix(u.Path, "/devstoreaccount1/")
}

// explain turns the service's answers into the store's words, with the mend where an operator has to see to it. The
// SDK's own text is not passed on: it holds the request's URL, and so a shared access signature.
func (s *Store) explain(doing string, err error) error {
	if err == nil || errors.Is(err, state.ErrConflict) {
		return err
	}
	var answer *azcore.ResponseError
	if errors.Is(err, errForeign) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if !errors.As(err, &answer) {
		var request *url.Error
		if errors.As(err, &request) {
			err = request.Err
		}
		if s.azurite() {
			return fmt.Errorf("%s: the storage account cannot be reached: it is Azurite's: start that (npx azurite), or set state__kind=file: %w", doing, err)
		}
		return fmt.Errorf("%s: the storage account cannot be reached: %w", doing, err)
	}
	permanent := func(mend string) error {
		return &state.PermanentError{Err: fmt.Errorf("%s: HTTP %d %s: %s", doing, answer.StatusCode, answer.ErrorCode, mend)}
	}
	switch {
	case bloberror.HasCode(err, bloberror.ContainerNotFound):
		return permanent(fmt.Sprintf("the container %s does not exist: create it, or set state__create=true", s.name))
	case bloberror.HasCode(err, bloberror.ContainerBeingDeleted, bloberror.ServerBusy, bloberror.OperationTimedOut):
		return fmt.Errorf("%s: HTTP %d %s", doing, answer.StatusCode, answer.ErrorCode)
	case answer.StatusCode < http.StatusMultipleChoices:
		return fmt.Errorf("%s: %w", doing, errForeign)
	case bloberror.HasCode(err, bloberror.LeaseIDMissing): // a 412, and not one of our conditions
		return permanent("another program holds a lease of Azure's on the blob: break it (az storage blob lease break), and let " +
			"no other program lease these blobs")
	case answer.StatusCode == http.StatusNotFound:
		return state.ErrNotFound
	case answer.StatusCode == http.StatusConflict, answer.StatusCode == http.StatusPreconditionFailed:
		return state.ErrConflict
	case answer.StatusCode == http.StatusForbidden:
		return permanent(fmt.Sprintf("access denied: give this app's identity the role Storage Blob Data Contributor on the container %s, "+
			"or check the account key, the signature's permissions and the account's firewall (state__connection)", s.name))
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusBadRequest:
		return permanent("check the connection that state__connection names")
	}
	return fmt.Errorf("%s: HTTP %d %s", doing, answer.StatusCode, answer.ErrorCode)
}

// upload writes a blob in one request, which has a second for each MiB beyond the time of a small one.
func (s *Store) upload(ctx context.Context, key string, data []byte,
	condition *blob.ModifiedAccessConditions) (state.Stamp, error) {
	contentType := "application/octet-stream"
	if path.Ext(key) == ".json" {
		contentType = "application/json"
	}
	if more := len(data) >> 20; more > 0 {
		ctx = policy.WithRetryOptions(ctx, retryOptions(tryTimeout+time.Duration(more)*time.Second))
	}
	got, err := s.client.NewBlockBlobClient(key).Upload(ctx, streaming.NopCloser(bytes.NewReader(data)),
		&blockblob.UploadOptions{
			HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: &contentType},
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: condition},
		})
	if err != nil {
		return state.Stamp{}, err
	}
	return stampOf(got.ETag, got.Date)
}
