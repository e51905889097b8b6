//go:build !small

package azure

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/state/blobstore"
)

// Container returns a client of a container.
func Container(s *config.Storage, name string) (*container.Client, error) {
	if s.ConnectionString != "" {
		client, err := container.NewClientFromConnectionString(s.ConnectionString.Reveal(), name, blobstore.ClientOptions())
		if err != nil {
			return nil, unreadable(s) // the SDK's message may quote the string
		}
		return client, nil
	}
	credential, err := Credential(s.Identity)
	if err != nil {
		return nil, err
	}
	return container.NewClient(join(s.BlobServiceURI, name), credential, blobstore.ClientOptions())
}

// Table returns a client of a table.
func Table(s *config.Storage, name string) (*aztables.Client, error) {
	options := &aztables.ClientOptions{ClientOptions: blobstore.ClientOptions().ClientOptions}
	if s.ConnectionString != "" {
		service, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString.Reveal(), options)
		if err != nil {
			return nil, unreadable(s)
		}
		return service.NewClient(name), nil
	}
	credential, err := Credential(s.Identity)
	if err != nil {
		return nil, err
	}
	return aztables.NewClient(join(s.TableServiceURI, name), credential, options)
}

// Queue returns a client of a queue.
func Queue(s *config.Storage, name string) (*azqueue.QueueClient, error) {
	if s.ConnectionString != "" {
		client, err := azqueue.NewQueueClientFromConnectionString(s.ConnectionString.Reveal(), name, nil)
		if err != nil {
			return nil, unreadable(s)
		}
		return client, nil
	}
	credential, err := Credential(s.Identity)
	if err != nil {
		return nil, err
	}
	return azqueue.NewQueueClient(join(s.QueueServiceURI, name), credential, nil)
}

func unreadable(s *config.Storage) error {
	return fmt.Errorf("the connection string in %s cannot be read: copy it again from the storage account's access keys",
		s.Setting)
}

func join(service, name string) string {
	if service != "" && service[len(service)-1] == '/' {
		return service + name
	}
	return service + "/" + name
}

// Credential follows the Functions host's conventions for identity-based connections.
func Credential(s config.Identity) (azcore.TokenCredential, error) {
	switch {
	case s.ClientSecret != "":
		return azidentity.NewClientSecretCredential(s.TenantID, s.ClientID, s.ClientSecret.Reveal(), nil)
	case s.Credential == "managedidentity":
		options := &azidentity.ManagedIdentityCredentialOptions{}
		switch {
		case s.ClientID != "":
			options.ID = azidentity.ClientID(s.ClientID)
		case s.ResourceID != "":
			options.ID = azidentity.ResourceID(s.ResourceID)
		}
		return azidentity.NewManagedIdentityCredential(options)
	default:
		return azidentity.NewDefaultAzureCredential(nil)
	}
}
