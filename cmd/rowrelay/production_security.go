package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/source"
)

// allLinks are those of all pollers, and of the state, each setting once.
func (f *facts) allLinks() (links []link) {
	if f.state != nil {
		links = append(links, *f.state)
	}
	for _, p := range f.pollers {
		links = append(links, p.links...)
	}
	return links
}

func judgeSourceTLS(_ *facts, p *pollerFacts) answer {
	for _, l := range p.links {
		if l.what != "the source" {
			continue
		}
		switch l.safety {
		case source.LinkLocal:
			return good("%s stays on this machine", l.kind)
		case source.LinkVerified:
			return good("TLS, and %s has to prove its name", l.host)
		default:
			return bad("", "%s", l.how)
		}
	}
	return unknown("mend the settings first", "%s", p.because())
}

func judgeAdmin(_ *facts, p *pollerFacts) answer {
	switch r := &p.rights; {
	case p.w.conn.Engine == "sqlite":
		return none("SQLite has no logins: the file's rights count")
	case !r.Told:
		return unknown("mend the settings first", "%s", p.because())
	case len(r.Admin) > 0:
		return bad("", "%s is %s", r.Login, list(r.Admin))
	case len(r.Roles) > 0:
		return unknown("look at SHOW GRANTS for them", "%s has the role(s) %s, whose rights are not looked into", r.Login, list(r.Roles))
	default:
		return good("%s is no administrator", r.Login)
	}
}

func judgeWrites(_ *facts, p *pollerFacts) answer {
	switch r := &p.rights; {
	case isOutbox(p.w.cfg):
		return none("an outbox is written: its rows are marked")
	case p.w.conn.Engine == "sqlite":
		return none("SQLite has no logins; Rowrelay opens the file with query_only")
	case !r.Told:
		return unknown("mend the settings first", "%s", p.because())
	case p.w.cfg.Source.Table == "":
		return unknown("", "a query: which tables it reads is not looked into")
	case len(r.Writes) > 0:
		return bad("REVOKE "+list(r.Writes)+" on "+p.w.cfg.Source.Table, "%s may %s", r.Login, list(r.Writes))
	case len(r.Admin) > 0:
		return bad("see login-rights", "%s has no right to write, but rules: it is %s", r.Login, list(r.Admin))
	case len(r.Roles) > 0:
		return unknown("look at SHOW GRANTS for them", "%s has the role(s) %s, whose rights are not looked into", r.Login, list(r.Roles))
	default:
		return good("%s may only read", r.Login)
	}
}

func judgeOutputTLS(f *facts, p *pollerFacts) answer {
	links := slices.DeleteFunc(slices.Clone(p.links), func(l link) bool { return l.what == "the source" })
	if f.state != nil && !isOutbox(p.w.cfg) {
		links = append(links, *f.state)
	}
	links = append(links, telemetryLinks(f.exports)...)
	if len(links) == 0 {
		return none("nothing is sent to another machine")
	}
	var seen []string
	for _, l := range links {
		if l.leaves() {
			return bad(l.mend, "%s: %s to %s", l.what, l.how, l.host)
		}
		word := "verified TLS"
		if l.safety == source.LinkLocal {
			word = "this machine"
		}
		seen = append(seen, l.what+": "+word)
	}
	return good("%s", strings.Join(seen, "; "))
}

func judgeIdentities(f *facts, p *pollerFacts) answer {
	links := p.links
	if f.state != nil && !isOutbox(p.w.cfg) {
		links = append(slices.Clone(links), *f.state)
	}
	var keys, others []string
	known := false
	for _, l := range links {
		known = known || l.entra
		switch {
		case l.secret && l.entra && !slices.Contains(keys, l.setting):
			keys = append(keys, l.setting)
		case l.secret && !l.entra:
			others = append(others, fmt.Sprintf("%s (%s)", l.setting, l.kind))
		}
	}
	if f.hostKey() && !slices.Contains(keys, hostStorage) {
		keys = append(keys, hostStorage+" (the host's)")
	}
	switch {
	case len(keys) > 0:
		return bad("", "a key or a password logs in with %s", list(keys))
	case known && len(others) > 0:
		return good("identities, where the service knows them; these take none: %s", list(others))
	case known:
		return good("identities only")
	case len(others) > 0:
		return none("no service here takes an identity of Rowrelay's: %s", list(others))
	}
	return none("nothing logs in anywhere")
}

// keyInURL names the part of an output's URL that looks like a secret.
func keyInURL(out *config.Output) string { return secretInURL(out.URL.Reveal()) }

func secretInURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if _, has := u.User.Password(); has {
		return "user:password@"
	}
	for name := range u.Query() {
		switch strings.ToLower(name) {
		case "code", "key", "apikey", "api_key", "token", "access_token", "sig", "signature", "secret":
			return name + "="
		}
	}
	return ""
}
