package main

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/blobstore"
	"github.com/rowrelay/rowrelay/state/filestore"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// openStore opens the state store. It does not connect yet.
func openStore(cfg *config.App) (state.Store, error) {
	switch cfg.State.Kind {
	case "file":
		return filestore.New(cfg.State.Path)
	case "memory":
		return memstore.New(), nil
	case "blob":
		client, err := containerClient(&cfg.State.Connection, cfg.State.Container)
		if err != nil {
			return nil, err
		}
		return blobstore.New(blobstore.Config{
			Client: client, Create: cfg.State.Create || cfg.State.Connection.Development,
		})
	default:
		return nil, fmt.Errorf("%q is not blob, file or memory", cfg.State.Kind)
	}
}

func containerClient(s *config.Storage, name string) (*container.Client, error) {
	if s.ConnectionString != "" {
		client, err := container.NewClientFromConnectionString(s.ConnectionString.Reveal(), name, blobstore.ClientOptions())
		if err != nil {
			// The SDK's message may quote the string.
			return nil, fmt.Errorf("the connection string in %s cannot be read: copy it again from the storage account's access keys", s.Setting)
		}
		return client, nil
	}
	credential, err := credentialOf(s.Identity())
	if err != nil {
		return nil, err
	}
	return container.NewClient(join(s.BlobServiceURI, name), credential, blobstore.ClientOptions())
}

func queueClient(s *config.Storage, name string) (*azqueue.QueueClient, error) {
	if s.ConnectionString != "" {
		client, err := azqueue.NewQueueClientFromConnectionString(s.ConnectionString.Reveal(), name, nil)
		if err != nil {
			return nil, fmt.Errorf("the connection string in %s cannot be read: copy it again from the storage account's access keys", s.Setting)
		}
		return client, nil
	}
	credential, err := credentialOf(s.Identity())
	if err != nil {
		return nil, err
	}
	return azqueue.NewQueueClient(join(s.QueueServiceURI, name), credential, nil)
}

func join(service, name string) string {
	if service != "" && service[len(service)-1] == '/' {
		return service + name
	}
	return service + "/" + name
}

// credentialOf follows the Functions host's conventions for identity-based connections.
func credentialOf(s config.Identity) (azcore.TokenCredential, error) {
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
