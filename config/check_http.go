package config

import (
	"fmt"
	"net/url"
	"time"

	"github.com/rowrelay/rowrelay/loopback"
)

// authParts have an effect with auth only.
var authParts = []string{"auth_scope", "auth_token_url", "auth_tenant_id", "auth_client_id", "auth_client_secret"}

func checkHTTP(p *Poller, s *scope, out *Output) {
	if out.URL == "" && s.ok("url") {
		s.fault("url", "is required for an output of kind http",
			"Set it, such as "+s.prefix+"url=https://example.com/hooks/orders")
		return
	}
	warnPlain(p, s, "url", out.URL, "events and secrets travel")
	checkAuth(p, s, out)
	checkRate(p, s, out)
}

func warnPlain(p *Poller, s *scope, key string, to Address, what string) {
	u, err := url.Parse(to.Reveal())
	if err == nil && u.Scheme == "http" && !loopback.Is(u.Hostname()) {
		p.Warnings.Add(s.named(key), "is plain http to another machine: "+what+" unencrypted", "Write an https URL")
	}
}

// checkAuth sees to it that whoever is to give a token can be asked for one, and nothing else is sent in its place.
func checkAuth(p *Poller, s *scope, out *Output) {
	if !s.ok("auth") {
		return
	}
	const scope, tokens, tenant = "auth_scope", "auth_token_url", "auth_tenant_id" //nolint:gosec // names of settings
	const id, secret = "auth_client_id", "auth_client_secret"                      //nolint:gosec // as above
	need := func(key, example string) {
		if !s.has(key) && s.ok(key) {
			s.fault(key, "is required with auth="+out.Auth, "Set it, such as "+s.prefix+key+"="+example)
		}
	}
	switch out.Auth {
	case "", "none":
		warnUnused(p, s, "has no effect without "+s.prefix+"auth", authParts)
		return
	case "entra":
		need(scope, "api://receiver/.default")
		warnUnused(p, s, "has no effect with auth=entra", []string{tokens})
		switch {
		case !s.ok(tenant, id, secret):
		case s.has(secret) && (!s.has(tenant) || !s.has(id)):
			s.fault(secret, "stands without "+s.prefix+tenant+" and "+s.prefix+id,
				"Set all three, or none for a managed identity")
		case s.has(tenant) && !s.has(secret):
			s.fault(tenant, "stands without "+s.prefix+secret, "Set it too, or remove the tenant for a managed identity")
		}
	case "oauth2":
		need(tokens, "https://login.example.com/oauth2/token")
		need(id, "shop-relay")
		need(secret, "%CLIENT_SECRET%")
		warnUnused(p, s, "has no effect with auth=oauth2", []string{tenant})
		warnPlain(p, s, tokens, out.AuthTokenURL, "the client's secret travels")
	}
	u, err := url.Parse(out.URL.Reveal())
	if _, header := out.Headers["Authorization"]; header || err == nil && u.User != nil {
		s.fault("auth",
			"is set, and so is a header Authorization or a user in "+s.named("url")+": a request carries one of them",
			"Remove one of the two")
	}
}

// checkRate sees to it that no request spends its time on waiting for its turn: that would look like a receiver that
// does not answer.
func checkRate(p *Poller, s *scope, out *Output) {
	if wait := out.Every * time.Duration(p.Concurrency); s.ok("rate", "timeout") && wait > out.Timeout/2 {
		s.fault("rate", fmt.Sprintf("is too low for concurrency=%d: the last of so many requests would wait %s for its turn, which is more than half of timeout=%s",
			p.Concurrency, wait, out.Timeout), "Lower "+p.Setting("concurrency")+", or raise "+s.named("timeout"))
	}
}
