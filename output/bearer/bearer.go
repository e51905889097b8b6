// Package bearer puts a bearer token on each request of an output over HTTP (output__auth). A token is asked for when
// it is first needed, and again well before it ends; one that the receiver refuses with 401 is renewed once, and the
// request repeated.
//
//	bearer.go   the token that is kept, and the requests that carry it
//	sources.go  who gives tokens: an authorization server, by OAuth 2's client credentials
//	entra.go    or Microsoft Entra, by an identity
package bearer

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Token is what a Source gave. A zero Until says that nobody told when it ends.
type Token struct {
	Value string
	Until time.Time
}

// Source gives a token. fresh says that the receiver refused the last one: what somebody keeps is of no use.
type Source func(ctx context.Context, fresh bool) (Token, error)

const (
	// early is how long before its end a token is renewed, or a fifth of its time where that is less.
	early = 5 * time.Minute
	// pause is how long a source that failed is left alone while the old token holds.
	pause = 10 * time.Second
	// stubborn is how long a receiver that refused a renewed token, too, costs no further one.
	stubborn = time.Minute
)

// Transport is an http.RoundTripper that adds the token. It is safe for concurrent use.
type Transport struct {
	next http.RoundTripper
	ask  Source
	now  func() time.Time
	turn chan struct{} // whoever asks the source holds it

	mu   sync.Mutex
	kept kept
}

// kept is the token in use.
type kept struct {
	Token
	asked, renew time.Time // when it was asked for, and is to be asked for again; a zero renew: never
	replaced     bool      // it was asked for because the one before was refused
	accepted     bool      // the receiver took it at least once
}

// New returns a Transport before next.
func New(ask Source, next http.RoundTripper) *Transport {
	return &Transport{next: next, ask: ask, now: time.Now, turn: make(chan struct{}, 1)}
}

// RoundTrip sends req with a token. An answer of 401 is returned only where another token does not help, or there is
// none.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.token(req.Context(), "")
	if err != nil {
		return nil, err
	}
	resp, err := t.send(req, token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	other, err := t.token(req.Context(), token)
	if err != nil || other == token {
		return resp, nil //nolint:nilerr // the receiver's answer tells more
	}
	again := *req
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // the same
		}
	}
	_ = resp.Body.Close() // the connection goes with what was not read
	return t.send(&again, other)
}

func (t *Transport) send(req *http.Request, token string) (*http.Response, error) {
	carrying := *req
	carrying.Header = maps.Clone(req.Header)
	carrying.Header.Set("Authorization", "Bearer "+token)
	resp, err := t.next.RoundTrip(&carrying)
	if err == nil && resp.StatusCode != http.StatusUnauthorized {
		t.mu.Lock()
		if t.kept.Value == token {
			t.kept.accepted = true
		}
		t.mu.Unlock()
	}
	return resp, err
}

// token returns the token to use; refused is the one that the receiver did not take, "" for none. Where no other can be
// had yet, refused itself comes back.
func (t *Transport) token(ctx context.Context, refused string) (string, error) {
	if value, due := t.look(refused); !due {
		return value, nil
	}
	select {
	case t.turn <- struct{}{}:
	default: // somebody asks already: the old token serves as long as it holds
		if value, _ := t.look(refused); value != "" && value != refused {
			return value, nil
		}
		select {
		case t.turn <- struct{}{}:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	defer func() { <-t.turn }()
	value, due := t.look(refused) // whoever had the turn may have brought one
	if !due {
		return value, nil
	}
	got, err := t.ask(ctx, refused != "")
	if err != nil && value != "" && value != refused {
		t.mu.Lock()
		t.kept.renew = t.now().Add(pause)
		t.mu.Unlock()
		return value, nil
	}
	if err != nil {
		return "", err
	}
	t.keep(got, refused != "")
	return got.Value, nil
}

// look returns the token that is kept, "" where none holds, and whether the source is to be asked for another.
func (t *Transport) look(refused string) (value string, due bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, now := &t.kept, t.now()
	switch {
	case k.Value == "", !k.Until.IsZero() && !now.Before(k.Until):
		return "", true
	case k.Value == refused:
		return k.Value, k.accepted || !k.replaced || now.Sub(k.asked) >= stubborn
	}
	return k.Value, !k.renew.IsZero() && !now.Before(k.renew)
}

func (t *Transport) keep(got Token, replaced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.kept = kept{Token: got, asked: now, replaced: replaced}
	if !got.Until.IsZero() {
		t.kept.renew = got.Until.Add(-min(early, got.Until.Sub(now)/5))
	}
}
