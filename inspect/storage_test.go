package inspect_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/production"
)

// TestAccounts: whether the state lies in the host's account, by each form of the two settings.
func TestAccounts(t *testing.T) {
	const (
		shop  = "DefaultEndpointsProtocol=https;AccountName=Shop;AccountKey=eA=="
		state = "state__connection=S"
		// SAS forms, which name no account.
		whole = "BlobEndpoint=https://shop.blob.core.windows.net/;SharedAccessSignature=sv=2024&ss=b&srt=co&sig=x"
		one   = "BlobEndpoint=https://shop.blob.core.windows.net/;SharedAccessSignature=sv=2024&sr=c&sig=x"
		own   = "BlobEndpoint=https://blobs.example.com/;SharedAccessSignature=sv=2024&ss=b&srt=co&sig=x"
	)
	for _, c := range []struct {
		env  []string
		want production.Verdict
	}{
		{[]string{"AzureWebJobsStorage=" + shop}, production.ToMend},
		{[]string{"AzureWebJobsStorage=" + shop, state, "S=" + whole}, production.ToMend}, // ok before: no AccountName
		{[]string{"AzureWebJobsStorage=" + whole}, production.ToMend},
		{[]string{"AzureWebJobsStorage=" + shop, state, "S=" + one}, production.OK},
		{[]string{"AzureWebJobsStorage=" + shop, state, "S=" + own}, production.CannotTell},
		{[]string{"AzureWebJobsStorage=" + own, state, "S=" + shop}, production.CannotTell},
		{[]string{"AzureWebJobsStorage=@Microsoft.KeyVault(SecretUri=https://v/s)", state, "S=" + shop},
			production.CannotTell},
		{[]string{state, "S=" + shop}, production.CannotTell}, // under the host: where its storage is, is set somewhere else
		{[]string{"AzureWebJobsStorage__accountName=shop"}, production.CannotTell},
		{[]string{"AzureWebJobsStorage__accountName=shop", state, "S=" + shop}, production.ToMend},
		{[]string{"AzureWebJobsStorage__accountName=shop", state, "S__blobServiceUri=https://state.blob.core.windows.net"},
			production.OK},
		{[]string{"AzureWebJobsStorage__blobServiceUri=https://shop.blob.core.windows.net", state,
			"S__blobServiceUri=https://shop.blob.core.windows.net/"}, production.CannotTell},
		{[]string{"AzureWebJobsStorage=UseDevelopmentStorage=true"}, production.ToMend},
	} {
		f, _ := factsIn(t, hosted, append(c.env, "state__kind=blob")...)
		if got := verdictOn(t, f, "state-account"); got.Verdict != c.want || strings.Contains(got.Seen+got.Mend, "sig=") {
			t.Errorf("%q is %s: %s", c.env, got.Verdict, got.Seen)
		}
	}
	f, _ := factsOf(t, "state__kind=blob", state, "S="+shop)
	if got := verdictOn(t, f, "state-account"); got.Verdict != production.NoMatter {
		t.Errorf("without a host: %s: %s", got.Verdict, got.Seen)
	}
}

// TestBriefHidesSignatures: a request that does not get there is an error with its whole URL.
func TestBriefHidesSignatures(t *testing.T) {
	quick.Skip(t)
	closed := httptest.NewServer(nil)
	address := closed.URL
	closed.Close()
	f, p := factsOf(t, "state__kind=blob", "state__connection=S",
		"S=BlobEndpoint="+address+"/shop;SharedAccessSignature=sv=2024&sig=plantedSignature4711",
		"pollers__orders__dead_letter__kind=queue", "pollers__orders__dead_letter__connection=Q",
		"Q=QueueEndpoint="+address+"/shop;SharedAccessSignature=sv=2024&sig=plantedSignature4711")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	p.AskQueues(ctx)
	f.AskStore(ctx)
	store := &f.Store
	for name, err := range map[string]error{"list": store.ListErr, "soft delete": store.Copies.Err,
		"versions": store.Copies.VersionErr, "dead letters": p.Letters.QueuedErr} {
		if err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range p.Queues {
		if err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVersions: the documents are asked, as the service's properties do not say it. Azurite keeps none.
func TestVersions(t *testing.T) {
	const blobItem = "<Blob><Name>state/shop/orders.json</Name>%s<Properties><Etag>1</Etag></Properties></Blob>"
	for name, c := range map[string]struct {
		status   int
		blobs    string
		versions bool
		want     production.Verdict
	}{
		"versions": {200, fmt.Sprintf(blobItem,
			"<VersionId>2026-01-01T00:00:00.0000000Z</VersionId><IsCurrentVersion>true</IsCurrentVersion>"), true, production.ToMend},
		"none":         {200, fmt.Sprintf(blobItem, ""), false, production.OK},
		"no documents": {200, "", false, production.CannotTell},
		"denied":       {403, "", false, production.CannotTell},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.URL.Query().Get("include"); r.Method != http.MethodGet || got != "versions" {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(c.status)
				_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>%s</Blobs><NextMarker/></EnumerationResults>`, c.blobs)
			}))
			defer server.Close()
			f, _ := factsOf(t, "state__kind=blob",
				"AzureWebJobsStorage=AccountName=shop;AccountKey=eA==;BlobEndpoint="+server.URL+"/shop")
			copies := &f.Store.Copies
			copies.Documents, copies.Versions,
				copies.VersionErr = azure.Versions(t.Context(), &f.Config.State.Connection, f.Config.State.Container, "state/shop/")
			if got := verdictOn(t, f, "state-copies"); copies.Versions != c.versions || got.Verdict != c.want {
				t.Errorf("%+v: %s: %s", copies, got.Verdict, got.Seen)
			}
		})
	}
}

// TestVersionsOfAzurite: a real listing of a real document.
func TestVersionsOfAzurite(t *testing.T) {
	f, _ := factsOf(t, "state__kind=blob", "state__container="+fmt.Sprintf("versions-%d", time.Now().UnixNano()),
		"AzureWebJobsStorage="+testenv.Azurite(t))
	if _, err := storeOf(t, &f.Config.State).Create(t.Context(), "state/shop/orders.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	f.AskStore(t.Context())
	if store := f.Store; store.Copies != (inspect.Copies{Documents: 1}) || store.ListErr != nil {
		t.Errorf("%+v", store)
	}
}

// TestContainerThatIsNotThere: with state__create, and with Azurite, listing one is no error. That it is there is not
// said.
func TestContainerThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s: the checklist changes nothing", r.Method, r.URL)
		}
		w.Header().Set("x-ms-error-code", "ContainerNotFound")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	own := "AzureWebJobsStorage=AccountName=shop;AccountKey=eA==;BlobEndpoint=" + server.URL + "/shop"
	absent := "state__container=" + fmt.Sprintf("absent-%d", time.Now().UnixNano())
	for name, c := range map[string]struct {
		settings []string
		want     production.Verdict
		says     string
	}{
		"not made by us": {[]string{own}, production.ToMend, "HTTP 404 ContainerNotFound"},
		"state__create":  {[]string{own, "state__create=true"}, production.CannotTell, "is not there yet"},
		"Azurite": {[]string{absent, "AzureWebJobsStorage=" + testenv.Azurite(t)}, production.CannotTell,
			"is not there yet"},
	} {
		f, _ := factsOf(t, append(c.settings, "state__kind=blob")...)
		f.AskStore(t.Context())
		if got := verdictOn(t, f, "state-reached"); got.Verdict != c.want || !strings.Contains(got.Seen, c.says) {
			t.Errorf("%s is %s: %s, want %s", name, got.Verdict, got.Seen, c.want)
		}
	}
}

// TestDeadLettersInAQueue: they are counted where the login may read the queue.
func TestDeadLettersInAQueue(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		count        string
		held, queues production.Verdict
	}{
		"some":   {200, "3", production.ToMend, production.OK},
		"none":   {200, "0", production.OK, production.OK},
		"sender": {403, "", production.CannotTell, production.CannotTell}, // what deploy/ gives, and the item itself asks for
		"gone":   {404, "", production.CannotTell, production.ToMend},
		// With state__create the first message makes it: nothing is held in it, and nobody has seen that it can be made.
		"unmade": {404, "", production.OK, production.CannotTell},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.count != "" {
					w.Header().Set("x-ms-approximate-messages-count", c.count)
				}
				if c.status == 404 {
					w.Header().Set("x-ms-error-code", "QueueNotFound")
				}
				w.WriteHeader(c.status)
			}))
			defer server.Close()
			f, p := factsOf(t, "pollers__orders__dead_letter__kind=queue", "pollers__orders__dead_letter__connection=Q",
				"Q=AccountName=shop;AccountKey=eA==;QueueEndpoint="+server.URL+"/shop",
				fmt.Sprintf("state__create=%t", name == "unmade"))
			p.AskQueues(t.Context())
			if held, queues := verdictOn(t, f, "held"),
				verdictOn(t, f, "queues"); held.Verdict != c.held || queues.Verdict != c.queues {
				t.Errorf("held %s (%s), queues %s (%s)", held.Verdict, held.Seen, queues.Verdict, queues.Seen)
			}
		})
	}
}
