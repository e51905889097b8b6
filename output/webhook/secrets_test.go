package webhook_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/webhook"
)

// The receiver quotes the whole request back: no secret of the settings reaches the error, and the rest does.
func TestErrorsHoldNoSecrets(t *testing.T) {
	for _, status := range []int{400, 500} {
		r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "order closed\r\n\x1b[31m\t"+q.URL.String()+" "+q.URL.Query().Get("code")+" "+
				q.Header.Get("Authorization")+" "+q.Header.Get("X-Api-Key")+strings.Repeat(" long", 500))
		})
		o := open(t, webhook.Config{
			URL: strings.Replace(r.URL, "http://", "http://planted-user:planted-password@", 1) +
				"/in?code=planted%2Bcode&b=planted-b",
			Secret: "planted-secret", Headers: map[string]string{"X-Api-Key": "Bearer planted-key"},
		})
		err := o.Deliver(t.Context(), outputtest.Delivery(0, 1))
		if err == nil {
			t.Fatal("no error")
		}
		text := err.Error()
		if strings.Contains(text, "planted") || strings.Contains(text, "cGxhbnRlZC") ||
			strings.ContainsAny(text, "\r\n\x1b\t") {
			t.Errorf("secrets or control characters in %q", text)
		}
		if !strings.Contains(text, "order closed") || len(text) > 512 {
			t.Errorf("no bounded excerpt in %q", text)
		}
	}
}

func TestUnansweredHoldsNoSecrets(t *testing.T) {
	abort := newReceiver(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, host, _ := strings.Cut(abort.URL, "://")
	for _, address := range []string{
		"http://planted-user:planted-pass@127.0.0.1:1/planted-path?code=planted-code", // refuses connections
		"http://planted-user:planted-pass@" + host + "/planted-path?code=planted-code",
		"https://planted-user:planted-pass@" + host + "/planted-path?code=planted-code", // speaks no TLS
	} {
		o := open(t, webhook.Config{URL: address, Secret: "planted-secret"})
		err := o.Deliver(t.Context(), outputtest.Delivery(0, 1))
		if err == nil || strings.Contains(err.Error(), "planted") || !strings.Contains(err.Error(), "sending to http") {
			t.Errorf("%v", err)
		}
	}
}

func TestNewNamesTheSettingAndNotItsValue(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  webhook.Config
		says string
	}{
		"relative":     {webhook.Config{URL: "/planted?code=planted"}, "output__url"},
		"no host":      {webhook.Config{URL: "https:///planted"}, "output__url"},
		"other scheme": {webhook.Config{URL: "ftp://planted/"}, "output__url"},
		"not a URL":    {webhook.Config{URL: "http://[planted"}, "output__url"},
		"empty":        {webhook.Config{}, "output__url"},
		"secret":       {webhook.Config{URL: "https://h/", Secret: "whsec_planted!"}, "output__secret"},
		"empty secret": {webhook.Config{URL: "https://h/", Secret: "whsec_"}, "output__secret"},
		"header name": {webhook.Config{URL: "https://h/", Headers: map[string]string{"a b": "planted"}},
			"output__headers__a b"},
		"header value": {webhook.Config{URL: "https://h/", Headers: map[string]string{"a": "planted\n"}},
			"output__headers__a"},
		"our header": {webhook.Config{URL: "https://h/", Headers: map[string]string{"rowrelay-poller": "planted"}},
			"Rowrelay-Poller"},
		"content type": {webhook.Config{URL: "https://h/", Headers: map[string]string{"content-type": "planted"}},
			"output__headers__content-type"},
		"our key": {webhook.Config{URL: "https://h/", Headers: map[string]string{"idempotency-key": "planted"}},
			"Idempotency-Key"},
	} {
		_, err := webhook.New(c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
