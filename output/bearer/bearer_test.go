package bearer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/output/outputtest"
)

// server is an authorization server and the receiver that believes it: it takes the newest token only.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	given    int
	valid    string // what the receiver takes
	down     bool
	lifetime int // seconds; 0: not told
	bodies   []string
}

func newServer(t *testing.T) *server {
	s := &server{lifetime: 3600}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, q *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		id, secret, basic := q.BasicAuth()
		if basic {
			secret, _ = url.QueryUnescape(secret) // RFC 6749, 2.3.1
		} else {
			id, secret = q.FormValue("client_id"), q.FormValue("client_secret")
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case s.down:
			w.WriteHeader(http.StatusServiceUnavailable)
		case id != "shop" || secret != "planted/secret" || q.FormValue("grant_type") != "client_credentials" ||
			q.FormValue("scope") != "orders.write":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"not %s"}`, secret)
		default:
			s.given++
			s.valid = fmt.Sprintf("token-%d", s.given)
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","expires_in":%d}`, s.valid, s.lifetime)
		}
	})
	mux.HandleFunc("/orders", func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.Header.Get("Authorization") != "Bearer "+s.valid {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.bodies = append(s.bodies, string(body))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) counts() (given, taken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given, len(s.bodies)
}

func (s *server) client() Client {
	return Client{TokenURL: s.URL + "/token", ID: "shop", Secret: "planted/secret", Scope: "orders.write"}
}

func (s *server) post(t *testing.T, through *Transport) (status int, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/orders", strings.NewReader("event"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := through.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	if req.Header.Get("Authorization") != "" {
		t.Error("the caller's request was changed")
	}
	return resp.StatusCode, resp.Body.Close()
}

func want(t *testing.T, s *server, given, taken int) {
	t.Helper()
	if g, n := s.counts(); g != given || n != taken {
		t.Errorf("%d tokens were given and %d requests taken, not %d and %d", g, n, given, taken)
	}
}

// One token serves all requests, is renewed before it ends, and an outage of the server then costs nothing while it
// holds.
func TestRenewedBeforeItEnds(t *testing.T) {
	s := newServer(t)
	now := time.Now()
	ask := OAuth2(s.client())
	through := New(func(ctx context.Context, fresh bool) (Token, error) {
		token, err := ask(ctx, fresh)
		token.Until = now.Add(time.Hour) // by this test's clock
		return token, err
	}, http.DefaultTransport)
	through.now = func() time.Time { return now }
	ok := func() {
		t.Helper()
		if status, err := s.post(t, through); status != http.StatusOK || err != nil {
			t.Fatal(status, err)
		}
	}
	ok()
	ok()
	want(t, s, 1, 2)
	now = now.Add(54 * time.Minute)
	ok()
	want(t, s, 1, 3)
	now = now.Add(90 * time.Second) // less than five minutes are left
	ok()
	want(t, s, 2, 4)

	now = now.Add(56 * time.Minute)
	s.set(func() { s.down = true })
	ok() // by the old one, which holds for four minutes more
	want(t, s, 2, 5)
	s.set(func() { s.down = false })
	ok() // the server is left alone for a moment
	want(t, s, 2, 6)
	now = now.Add(pause)
	ok()
	want(t, s, 3, 7)

	now = now.Add(2 * time.Hour)
	s.set(func() { s.down = true })
	if _, err := s.post(t, through); err == nil || !strings.Contains(err.Error(), "it answered 503") {
		t.Errorf("a token that has ended was used, or its server not blamed: %v", err)
	}
}

// A token whose end nobody told holds until it is refused.
func TestNoLifetime(t *testing.T) {
	s := newServer(t)
	s.lifetime = 0
	through := New(OAuth2(s.client()), http.DefaultTransport)
	now := time.Now()
	through.now = func() time.Time { return now }
	for range 3 {
		if status, err := s.post(t, through); status != http.StatusOK || err != nil {
			t.Fatal(status, err)
		}
		now = now.Add(1000 * time.Hour)
	}
	want(t, s, 1, 3)
}

// A 401 renews the token once and repeats the request with its body, also where all lanes are refused together; a
// receiver that takes no token costs one renewal in a minute, and its 401 comes back.
func TestUnauthorized(t *testing.T) {
	s := newServer(t)
	through := New(OAuth2(s.client()), http.DefaultTransport)
	now := time.Now()
	through.now = func() time.Time { return now }
	if status, err := s.post(t, through); status != http.StatusOK || err != nil {
		t.Fatal(status, err)
	}
	s.set(func() { s.valid = "revoked" })
	var lanes sync.WaitGroup
	for range 8 {
		lanes.Go(func() {
			if status, err := s.post(t, through); status != http.StatusOK || err != nil {
				t.Error(status, err)
			}
		})
	}
	lanes.Wait()
	want(t, s, 2, 9)
	for _, body := range s.bodies {
		if body != "event" {
			t.Errorf("a body arrived as %q", body)
		}
	}

	never := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(never.Close)
	other := &server{Server: never}
	for i, given := range []int{4, 4, 4, 5} {
		if i == 3 {
			now = now.Add(stubborn)
		}
		if i == 0 {
			through = New(OAuth2(s.client()), http.DefaultTransport)
			through.now = func() time.Time { return now }
		}
		if status, err := other.post(t, through); status != http.StatusUnauthorized || err != nil {
			t.Errorf("%d, %v", status, err)
		}
		want(t, s, given, 9)
	}
}

// What went wrong is told without the secret, which an answer may echo, and without the URL's query.
// TestSwitchedProtocols: an authorization server that hands its connection over gives no token, and is not waited for.
func TestSwitchedProtocols(t *testing.T) {
	server := httptest.NewServer(outputtest.SwitchProtocols(t))
	t.Cleanup(server.Close)
	ask := OAuth2(Client{TokenURL: server.URL, ID: "shop", Secret: "planted/secret"})
	if _, err := ask(t.Context(), false); err == nil || !strings.Contains(err.Error(), "it answered 101") {
		t.Error(err)
	}
}

func TestTokenErrors(t *testing.T) {
	s := newServer(t)
	wrong := s.client()
	wrong.ID = "planted"
	away := s.client()
	away.TokenURL = "http://127.0.0.1:1/token?key=planted"
	moved := httptest.NewServer(http.RedirectHandler(s.URL+"/token", http.StatusTemporaryRedirect))
	t.Cleanup(moved.Close)
	elsewhere := s.client()
	elsewhere.TokenURL = moved.URL
	for says, c := range map[string]Client{
		"it answered 401 invalid_client not ***": wrong, "connection refused": away, "it answered 307": elsewhere,
	} {
		_, err := s.post(t, New(OAuth2(c), http.DefaultTransport))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%q is not in %v", says, err)
		}
	}
	want(t, s, 0, 0)

	// A lane that waits for another's question goes when its own time is over.
	asking, answer := make(chan struct{}), make(chan struct{})
	slow := New(func(context.Context, bool) (Token, error) {
		close(asking)
		<-answer
		return Token{}, errors.New("no token")
	}, http.DefaultTransport)
	var first sync.WaitGroup
	first.Go(func() { _, _ = s.post(t, slow) })
	<-asking
	over := errors.New("no answer within 30s")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if _, err := slow.token(ctx, ""); !errors.Is(err, over) {
		t.Errorf("%v", err)
	}
	close(answer)
	first.Wait()
}
