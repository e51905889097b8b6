package blobstore_test

import (
	"net"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/rowrelay/rowrelay/state/blobstore"
)

// TestUnreachable: the transport's error quotes the request's URL, and with it a shared access signature.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	// The emulator's account is known by its name: there the mend is said.
	for account, azurite := range map[string]bool{"account": false, "devstoreaccount1": true} {
		t.Run(account, func(t *testing.T) { unreachable(t, address, account, azurite) })
	}
}

func unreachable(t *testing.T, address, account string, azurite bool) {
	t.Helper()
	options := blobstore.ClientOptions()
	options.Retry.MaxRetries = -1
	c, err := container.NewClientWithNoCredential("http://"+address+"/"+account+
		"/db-state?sv=2024-11-04&sig=planted-signature", options)
	if err != nil {
		t.Fatal(err)
	}
	s, err := blobstore.New(blobstore.Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	_, loadErr := s.Load(t.Context(), "state/app/orders.json")
	_, createErr := s.Create(t.Context(), "state/app/orders.json", []byte("{}"))
	_, listErr := s.List(t.Context(), "state/")
	for name, err := range map[string]error{"Load": loadErr, "Create": createErr, "List": listErr} {
		if err == nil || !strings.Contains(err.Error(), "the storage account cannot be reached") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if said := strings.Contains(err.Error(),
			"it is Azurite's: start that (npx azurite), or set state__kind=file"); said != azurite {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), "planted") {
			t.Errorf("%s shows the signature: %v", name, err)
		}
	}
}
