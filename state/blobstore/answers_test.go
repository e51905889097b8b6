package blobstore_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/blobstore"
)

// TestAnswers holds what Azure says, which an emulator does not, to what an operator has to read.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status    int
		code      string
		permanent bool
		is        error
		says      string
	}{
		"role missing": {403, "AuthorizationPermissionMismatch", true, nil,
			"Storage Blob Data Contributor on the container db-state"},
		"firewall":         {403, "AuthorizationFailure", true, nil, "firewall"},
		"expired token":    {401, "InvalidAuthenticationInfo", true, nil, "state__connection"},
		"busy":             {503, "ServerBusy", false, nil, "503 ServerBusy"},
		"fault":            {500, "InternalError", false, nil, "500 InternalError"},
		"stale condition":  {412, "ConditionNotMet", false, state.ErrConflict, ""},
		"exists":           {409, "BlobAlreadyExists", false, state.ErrConflict, ""},
		"being deleted":    {409, "ContainerBeingDeleted", false, nil, "ContainerBeingDeleted"},
		"missing":          {404, "BlobNotFound", false, state.ErrConflict, ""},
		"no container":     {404, "ContainerNotFound", true, nil, "create it, or set state__create=true"},
		"leased by others": {412, "LeaseIdMissing", true, nil, "az storage blob lease break"},
		"a login page":     {200, "", false, nil, "is not Azure Storage"},
		"account disabled": {403, "AccountIsDisabled", true, nil, "AccountIsDisabled"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("x-ms-error-code", c.code)
				w.WriteHeader(c.status)
			}))
			defer server.Close()
			options := blobstore.ClientOptions()
			options.Retry.MaxRetries = -1
			client, err := container.NewClientWithNoCredential(server.URL+"/account/db-state?sig=planted-signature", options)
			if err != nil {
				t.Fatal(err)
			}
			s, err := blobstore.New(blobstore.Config{Client: client})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Replace(t.Context(), "state/app/orders.json", []byte("{}"), `"0x1"`)
			var permanent *state.PermanentError
			if err == nil || errors.As(err, &permanent) != c.permanent || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want permanent %t, saying %q", err, c.permanent, c.says)
			}
			if c.is != nil && !errors.Is(err, c.is) || c.is == nil && errors.Is(err, state.ErrConflict) {
				t.Errorf("got %v, want %v", err, c.is)
			}
			if strings.Contains(err.Error(), "planted") {
				t.Errorf("%q shows the signature", err)
			}
		})
	}
}

// TestAnAnswerOfAnother: a proxy or a login page answers 200 to everything. Each method says so.
func TestAnAnswerOfAnother(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>log in</html>"))
	}))
	defer server.Close()
	client, err := container.NewClientWithNoCredential(server.URL+"/account/db-state", blobstore.ClientOptions())
	if err != nil {
		t.Fatal(err)
	}
	s, err := blobstore.New(blobstore.Config{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	_, listing := s.List(t.Context(), "state/")
	_, loading := s.Load(t.Context(), "state/app/orders.json")
	_, creating := s.Create(t.Context(), "state/app/orders.json", []byte("{}"))
	for name, err := range map[string]error{"list": listing, "load": loading, "create": creating,
		"delete": s.Delete(t.Context(), "state/app/orders.json", `"0x1"`)} {
		if err == nil || !strings.Contains(err.Error(), "is not Azure Storage") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
