package bearer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/rowrelay/rowrelay/output"
)

// Client is who asks an authorization server.
type Client struct{ TokenURL, ID, Secret, Scope string }

// OAuth2 asks an authorization server by OAuth 2's client credentials (RFC 6749, 4.4).
func OAuth2(c Client) Source {
	cfg := clientcredentials.Config{ClientID: c.ID, ClientSecret: c.Secret, TokenURL: c.TokenURL,
		Scopes: strings.Fields(c.Scope)}
	// No redirects: the secret is meant for output__auth_token_url.
	client := &http.Client{Transport: output.Unswitched{Next: http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context, _ bool) (Token, error) {
		got, err := cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return Token{}, output.Errorf(err, "asking %s for a token (output__auth=oauth2): %s", originOf(c.TokenURL),
				c.said(err))
		}
		return Token{Value: got.AccessToken, Until: got.Expiry}, nil
	}
}

// said is what went wrong, without the URL's query and the secret, which an answer may echo.
func (c *Client) said(err error) string {
	var answer *oauth2.RetrieveError
	var failed *url.Error
	switch {
	case errors.As(err, &answer) && answer.Response != nil:
		text := fmt.Sprintf("it answered %d %s %s", answer.Response.StatusCode, answer.ErrorCode, answer.ErrorDescription)
		for _, secret := range []string{c.Secret, url.QueryEscape(c.Secret)} {
			text = strings.ReplaceAll(text, secret, "***")
		}
		if text = strings.TrimSpace(text); answer.Response.StatusCode < http.StatusInternalServerError {
			text += ": check output__auth_client_id, output__auth_client_secret and output__auth_scope"
		}
		return text
	case errors.As(err, &failed):
		return failed.Err.Error()
	}
	return err.Error()
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "output__auth_token_url"
	}
	return u.Scheme + "://" + u.Host
}
