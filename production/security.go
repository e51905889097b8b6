package production

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
)

func securityItems() []item {
	return []item{
		{
			id: "source-tls", group: groupSecurity, asks: "the connection to the database is encrypted and verified",
			each: judgeSourceTLS,
			why:  "Whoever is on the way can otherwise be the server: read the password, and invent rows.",
			mend: "leave the default in force, and name the authority that signed the server's certificate",
		},
		{
			id: "output-tls", group: groupSecurity, asks: "outputs, state, queues and telemetry are reached over verified TLS",
			each: judgeOutputTLS,
			why:  "Rows, keys, signatures and the headers of telemetry travel there.",
			mend: "use https, amqps, TLS; only connections inside of one machine may do without",
		},
		{
			id: "login-rights", group: groupSecurity, asks: "the database login is no administrator", each: judgeAdmin,
			why:  "In cursor mode Rowrelay needs SELECT on one table. Whatever else the login may do, whoever gets hold of it may do too.",
			mend: "make a login of its own with the rights that its mode needs, and no others (deploy/sql, docs/quickstarts)",
		},
		{
			id: "read-only", group: groupSecurity, asks: "the login cannot write the table that it watches", each: judgeWrites,
			needs: mode.Document, without: "an outbox is written: its rows are marked",
			why: "In cursor mode Rowrelay only reads.", mend: "REVOKE what is named here",
		},
		{
			id: "identities", group: groupSecurity, asks: "an identity logs in wherever the service knows identities",
			each: judgeIdentities,
			why:  "A key can be copied and does not expire; an identity is the app's own.",
			mend: "use the identity form of the setting (docs/settings.md), and grant the identity its role",
		},
		{
			id: "secrets", group: groupSecurity, asks: "secrets that are left are references to a Key Vault", app: judgeSecrets,
			why:  "App settings are shown to whoever may read the app's configuration. A resolved reference looks to the app like a value: this cannot be told from inside.",
			mend: "write @Microsoft.KeyVault(SecretUri=…) in the app setting, and give the app's identity Key Vault Secrets User",
		},
	}
}

func judgeSourceTLS(_ *inspect.App, p *inspect.Poller) Answer {
	for _, l := range p.Links {
		if l.What != inspect.TheSource {
			continue
		}
		switch l.Safety {
		case engine.LinkLocal:
			return good("%s stays on this machine", l.Kind)
		case engine.LinkVerified:
			return good("TLS, and %s has to prove its name", l.Host)
		default:
			return bad("", "%s", l.How)
		}
	}
	return notKnown(p.Because())
}

func judgeAdmin(_ *inspect.App, p *inspect.Poller) Answer {
	switch r := &p.Rights; {
	case p.Engine == "sqlite":
		return none("SQLite has no logins: the file's rights count")
	case !r.Told:
		return notKnown(p.Because())
	case len(r.Admin) > 0:
		return bad("", "%s is %s", r.Login, list(r.Admin))
	case len(r.Roles) > 0:
		return unknown("look at SHOW GRANTS for them", "%s has the role(s) %s, whose rights are not looked into", r.Login,
			list(r.Roles))
	default:
		return good("%s is no administrator", r.Login)
	}
}

func judgeWrites(_ *inspect.App, p *inspect.Poller) Answer {
	switch r := &p.Rights; {
	case p.Engine == "sqlite":
		return none("SQLite has no logins; Rowrelay opens the file with query_only")
	case !r.Told:
		return notKnown(p.Because())
	case p.Config.Source.Table == "":
		return unknown("", "a query: which tables it reads is not looked into")
	case len(r.Writes) > 0:
		return bad("REVOKE "+list(r.Writes)+" on "+p.Config.Source.Table, "%s may %s", r.Login, list(r.Writes))
	case len(r.Admin) > 0:
		return bad("see login-rights", "%s has no right to write, but rules: it is %s", r.Login, list(r.Admin))
	case len(r.Roles) > 0:
		return unknown("look at SHOW GRANTS for them", "%s has the role(s) %s, whose rights are not looked into", r.Login,
			list(r.Roles))
	default:
		return good("%s may only read", r.Login)
	}
}

func judgeOutputTLS(f *inspect.App, p *inspect.Poller) Answer {
	links := slices.DeleteFunc(slices.Clone(p.Links), func(l inspect.Link) bool { return l.What == inspect.TheSource })
	if f.Store.Link != nil && p.Can(mode.Document) {
		links = append(links, *f.Store.Link)
	}
	links = append(links, f.Telemetry.Links...)
	if len(links) == 0 {
		return none("nothing is sent to another machine")
	}
	var seen []string
	for _, l := range links {
		if l.Leaves() {
			return bad(l.Mend, "%s: %s to %s", l.What, l.How, l.Host)
		}
		word := "verified TLS"
		if l.Safety == engine.LinkLocal {
			word = "this machine"
		}
		seen = append(seen, l.What+": "+word)
	}
	return good("%s", strings.Join(seen, "; "))
}

func judgeIdentities(f *inspect.App, p *inspect.Poller) Answer {
	links := p.Links
	if f.Store.Link != nil && p.Can(mode.Document) {
		links = append(slices.Clone(links), *f.Store.Link)
	}
	var keys, others, unsure []string
	known := false
	for _, l := range links {
		known = known || l.Entra
		switch {
		case l.Secret && l.Unsure:
			unsure = append(unsure, fmt.Sprintf("%s (%s at %s)", l.Setting, l.Kind, l.Host))
		case l.Secret && l.Entra && !slices.Contains(keys, l.Setting):
			keys = append(keys, l.Setting)
		case l.Secret && !l.Entra:
			others = append(others, fmt.Sprintf("%s (%s)", l.Setting, l.Kind))
		}
	}
	if hostKey(f) && !slices.Contains(keys, azure.HostStorage) {
		keys = append(keys, azure.HostStorage+" (the host's)")
	}
	switch {
	case len(keys) > 0:
		return bad("", "a key or a password logs in with %s", list(keys))
	case len(unsure) > 0:
		return unknown("where the server knows Microsoft Entra ID, use the identity form of the setting (docs/settings.md)",
			"a password logs in with %s: whether the server knows identities does not show in its name", list(unsure))
	case known && len(others) > 0:
		return good("identities, where the service knows them; these take none: %s", list(others))
	case known:
		return good("identities only")
	case len(others) > 0:
		return none("no service here takes an identity of Rowrelay's: %s", list(others))
	}
	return none("nothing logs in anywhere")
}
