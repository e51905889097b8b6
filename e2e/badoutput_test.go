package e2e

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

// receiverAnswers makes the receiver answer so, and accept nothing, until it is mended.
func receiverAnswers(status int, header, value, body string) func(*testing.T, *stall, *sink) (settings, func()) {
	return func(_ *testing.T, _ *stall, to *sink) (settings, func()) {
		to.decide(func(w http.ResponseWriter, _ []cloudEvent) bool {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // a sender that is gone sees nothing, and fails as it should
			return false
		})
		return nil, func() { to.decide(nil) }
	}
}

func TestBadInputOutput(t *testing.T) {
	t.Parallel()
	const json = "application/json"
	cases := []badInput{
		{name: "redirect", spoil: receiverAnswers(307, "Location", "https://elsewhere.example/hook?key=hidden", ""),
			reason: "redirected", says: []string{"\nhttp://127.0.0.1:", "answered 307",
				"redirects to https://elsewhere.example; ", "\nset pollers__orders__output__url to the final address"}},
		{name: "malformed JSON", spoil: receiverAnswers(200, "Content-Type", json, `{"batchItemFailures":[`),
			says: []string{"answered 200", "JSON", "nothing was acknowledged"}},
		{name: "an id that was not sent",
			spoil: receiverAnswers(200, "Content-Type", json, `{"batchItemFailures":[{"itemIdentifier":"no-such-event"}]}`),
			says:  []string{"no-such-event", "neither the id nor the index"}},
		{name: "every event failed", spoil: everyEventFailed,
			says: []string{"batchItemFailures", "none of another key was accepted", "no attempt is counted"}},
		{name: "unauthorized", spoil: receiverAnswers(401, "Content-Type", "text/plain", "who are you?"),
			reason: "denied", says: []string{"\nhttp://127.0.0.1:", "answered 401 Unauthorized: «who are you?»",
				"\ncheck the key in pollers__orders__output__url, pollers__orders__output__headers__… and "}},
		{name: "forbidden", spoil: receiverAnswers(403, "Content-Type", "text/plain", ""), reason: "denied",
			says: []string{"answered 403 Forbidden; ", "\ncheck the key in pollers__orders__output__url"}},
		{name: "not found", spoil: receiverAnswers(404, "Content-Type", "text/plain", ""), reason: "not_found",
			says: []string{"\nhttp://127.0.0.1:", "answered 404 Not Found; ", "the position stays",
				"\ncheck pollers__orders__output__url: "}},
		{name: "bad certificate", spoil: badCertificate, reason: "bad_certificate",
			says: []string{"\nsending to https://127.0.0.1:", "x509:", "\nrenew the receiver's certificate",
				"pollers__orders__output__url"}},
		{name: "bad request", spoil: receiverAnswers(400, "Content-Type", "text/plain", "no such customer"),
			says: []string{"answered 400", "no such customer", "no attempt is counted"}},
		{name: "too large", spoil: receiverAnswers(413, "Content-Type", "text/plain", ""),
			says: []string{"answered 413", "\none event is more than the receiver", "pollers__orders__output__columns"}},
		{name: "unavailable", spoil: receiverAnswers(503, "Content-Type", "text/plain", "down for lunch"),
			says: []string{"answered 503", "down for lunch", "pollers__orders__output__"}},
		{name: "receiver down", spoil: receiverDown, says: []string{"connection refused", "pollers__orders__output__"}},
		{name: "no such host", bad: settings{"output__url": "http://no-such-host.invalid/hook"},
			says: []string{"no-such-host.invalid", "pollers__orders__output__"}},
		{name: "not TLS", spoil: notTLS, says: []string{"https://127.0.0.1", "pollers__orders__output__"}},
	}
	for i := range cases {
		cases[i].stall, cases[i].event, cases[i].leased = sqliteStall, "handler_failed", true
		if cases[i].reason == "" {
			cases[i].reason = "unavailable" // a destination that takes nothing is, whatever it answers
		}
	}
	tryAll(t, cases)
}

// everyEventFailed is a receiver that names every event of every request.
func everyEventFailed(t *testing.T, _ *stall, to *sink) (settings, func()) {
	to.decide(nameAll(t))
	return nil, func() { to.decide(nil) }
}

// receiverDown refuses connections, and comes back.
func receiverDown(t *testing.T, _ *stall, to *sink) (settings, func()) {
	g, through := gateBefore(t, to.URL)
	g.down()
	return settings{"output__url": through}, g.up
}

// badCertificate is a receiver whose certificate nobody vouches for.
func badCertificate(t *testing.T, _ *stall, _ *sink) (settings, func()) {
	receiver := httptest.NewTLSServer(http.NotFoundHandler())
	receiver.Config.ErrorLog = log.New(io.Discard, "", 0) // each handshake is one that fails
	t.Cleanup(receiver.Close)
	return settings{"output__url": receiver.URL}, nil
}

// notTLS speaks https to a receiver that does not.
func notTLS(_ *testing.T, _ *stall, to *sink) (settings, func()) {
	return settings{"output__url": "https" + to.URL[len("http"):]}, nil
}

// TestBadInputMissingQueue: without leave to create it, a queue that is not there fails the tick; once it is made,
// everything arrives. A shared access signature hides that the account is the emulator's.
func TestBadInputMissingQueue(t *testing.T) {
	t.Parallel()
	s := postgresStall(t, "http://127.0.0.1:9/")
	s.add(0, 6)
	connection, name := s.settings["AzureWebJobsStorage"], unique("missing")
	root := functionApp(t, s.settings)
	if _, _, err := command(t, root, s.settings, "run", "--once"); err == nil { // makes the container and the document
		t.Fatal("nobody listens there")
	}
	set := s.withOwn(settings{
		".state__create": "", ".QUEUES": signedQueues(t, connection), "output__kind": "queue", "output__url": "",
		"output__connection": "QUEUES", "output__queue": name, "lease_ttl": "60s", // the emulator is slow
	})
	before := positions(t, s.documents())
	host := startHost(t, root, set)
	for range 2 {
		line := readLine(t, mustFail(t, host, "lines"))
		for _, want := range []string{"the queue does not exist", "az storage queue create --name " + name,
			"state__create=true"} {
			if line.Event != "handler_failed" || !strings.Contains(line.Error, want) {
				t.Errorf("the line lacks %q: %s", want, line)
			}
		}
	}
	if is := positions(t, s.documents()); fmt.Sprint(is) != fmt.Sprint(before) {
		t.Errorf("the position moved: %v", is)
	}
	messages := readQueue(t, connection, name) // creates it
	must(t, host, "lines")
	messages.stop()
	if n := messages.count(); n != 6 {
		t.Errorf("%d messages, want 6", n)
	}
	for version, times := range messages.seen {
		if times != 1 {
			t.Errorf("version %d came %d times", version, times)
		}
	}
}

func signedQueues(t *testing.T, connection string) string {
	t.Helper()
	credential, err := azqueue.NewSharedKeyCredential(storageMember(t, connection, "AccountName"),
		storageMember(t, connection, "AccountKey"))
	if err != nil {
		t.Fatal("the storage connection string cannot be read")
	}
	values := sas.AccountSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().Add(time.Hour),
		ResourceTypes: (&sas.AccountResourceTypes{Service: true, Container: true, Object: true}).String(),
		Permissions:   (&sas.AccountPermissions{Read: true, Add: true, Process: true, Create: true}).String(),
	}
	signature, err := values.SignWithSharedKey(credential)
	if err != nil {
		t.Fatal("no signature could be made")
	}
	return "QueueEndpoint=" + storageMember(t, connection, "QueueEndpoint") + ";SharedAccessSignature=" +
		signature.Encode()
}

// nameAll returns an answer that names every event in batchItemFailures.
func nameAll(t *testing.T) func(http.ResponseWriter, []cloudEvent) bool {
	return func(w http.ResponseWriter, events []cloudEvent) bool {
		var failed []string
		for _, e := range events {
			failed = append(failed, fmt.Sprintf(`{"itemIdentifier":%q}`, e.ID))
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := fmt.Fprintf(w, `{"batchItemFailures":[%s]}`, strings.Join(failed, ",")); err != nil {
			t.Error(err)
		}
		return false
	}
}
