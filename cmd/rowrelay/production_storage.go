package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/production"
	"github.com/rowrelay/rowrelay/state/blobstore"
)

// httpError is an answer of Azure's: the SDK's own text is the whole of it.
type httpError struct {
	status int
	code   string
}

func (e *httpError) Error() string { return fmt.Sprintf("HTTP %d %s", e.status, e.code) }

// Is tells what the login may not ask from what is not there.
func (e *httpError) Is(target error) bool {
	return target == production.ErrDenied && e.status == http.StatusForbidden
}

// brief is an error of Azure's SDK in one line, without the URL of the request: it may hold a shared access signature.
func brief(err error) error {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return &httpError{answer.StatusCode, answer.ErrorCode}
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// askQueues asks whether the queues are there. Those of Azurite and with state__create are made when they are needed.
func (p *gatheredPoller) askQueues(ctx context.Context, create bool) {
	p.found.Queues = map[string]error{}
	ask := func(s *config.Storage, name string) (messages *int64, err error) {
		client, err := queueClient(s, name)
		if err == nil {
			answer, asked := client.GetProperties(ctx, nil)
			messages, err = answer.ApproximateMessagesCount, asked
		}
		if queueerror.HasCode(err, queueerror.QueueNotFound) && (create || s.Development) {
			p.found.Queues[name+" of "+s.Setting] = production.ErrUnmade
			return new(int64), nil // and holds no message
		}
		err = brief(err)
		p.found.Queues[name+" of "+s.Setting] = err
		return messages, err
	}
	for i := range p.w.cfg.Outputs {
		if out := &p.w.cfg.Outputs[i]; out.Kind == "queue" {
			_, _ = ask(&out.Connection, out.Queue) // kept in Queues
		}
	}
	if d := &p.w.cfg.DeadLetter; d.Kind == "queue" {
		p.found.Letters.Queued, p.found.Letters.QueuedErr = ask(&d.Connection, d.Queue)
	}
}

// askStore looks at the state store without writing to it.
func (g *gathering) askStore(ctx context.Context) {
	if g.app.store == nil {
		return
	}
	s, store := &g.app.cfg.State, &g.facts.Store
	if s.Kind == "file" {
		_, err := os.Stat(s.Path)
		store.Missing = err != nil
		return
	}
	if s.Kind != "blob" {
		return
	}
	if _, err := g.app.store.List(ctx, documentsOf(s)); err != nil {
		store.ListErr = brief(err)
	}
	copies := &store.Copies
	copies.Days, copies.Err = keptFor(ctx, &s.Connection)
	copies.Documents, copies.Versions, copies.VersionErr = versionsOf(ctx, s)
	// List has no error for a container that the first write makes.
	var answer *httpError
	store.Missing = errors.As(copies.VersionErr, &answer) && answer.code == string(bloberror.ContainerNotFound)
}

func documentsOf(s *config.State) string { return "state/" + s.AppName + "/" }

// keptFor is for how many days soft delete keeps what was overwritten. It takes a right on the account that the app need not have.
func keptFor(ctx context.Context, s *config.Storage) (days int32, err error) {
	options := &service.ClientOptions{ClientOptions: blobstore.ClientOptions().ClientOptions}
	var client *service.Client
	if s.ConnectionString != "" {
		client, err = service.NewClientFromConnectionString(s.ConnectionString.Reveal(), options)
	} else {
		var credential azcore.TokenCredential
		if credential, err = credentialOf(s.Identity()); err == nil {
			client, err = service.NewClient(s.BlobServiceURI, credential, options)
		}
	}
	if err != nil {
		return 0, errors.New("no client for the service")
	}
	answer, err := client.GetProperties(ctx, nil)
	if err != nil {
		return 0, brief(err)
	}
	policy := answer.DeleteRetentionPolicy
	if policy == nil || policy.Enabled == nil || !*policy.Enabled || policy.Days == nil {
		return 0, nil
	}
	return *policy.Days, nil
}

// mostLooked bounds how many documents are looked at for versions.
const mostLooked = 10

// versionsOf looks for versions of the documents: the service's properties do not say whether they are kept.
func versionsOf(ctx context.Context, s *config.State) (documents int, versions bool, err error) {
	client, err := containerClient(&s.Connection, s.Container)
	if err != nil {
		return 0, false, errors.New("no client for the container")
	}
	prefix, most := documentsOf(s), int32(mostLooked)
	answer, err := client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Prefix: &prefix, MaxResults: &most, Include: container.ListBlobsInclude{Versions: true},
	}).NextPage(ctx)
	if err != nil {
		return 0, false, brief(err)
	}
	for _, item := range answer.Segment.BlobItems {
		documents++
		versions = versions || item.VersionID != nil && *item.VersionID != ""
	}
	return documents, versions, nil
}
