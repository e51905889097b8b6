package production

import (
	"errors"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/inspect"
)

func TestSecurityItems(t *testing.T) { try(t, securityCases()) }

func securityCases() []verdictCase {
	// link changes the first connection, that of the source, or adds one.
	link := func(change func(l *inspect.Link)) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { change(&p.Links[0]) }
	}
	to := func(l inspect.Link) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Links = append(p.Links, l) }
	}
	plain := inspect.Link{What: "the output", Kind: "rabbitmq", Host: "b.example.com", Safety: engine.LinkPlain,
		How: "amqp, which is AMQP without TLS", Mend: "write an amqps URL"}
	rights := func(change func(r *engine.Rights)) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { change(&p.Rights) }
	}
	engineName := func(name string) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Engine = name }
	}
	untold := func(_ *inspect.App, p *inspect.Poller) { p.Rights, p.RightsErr = engine.Rights{}, errors.New("denied") }
	query := []string{"pollers__orders__source__table=", "pollers__orders__source__query=SELECT * FROM orders",
		"pollers__orders__source__key=id"}
	outbox := []string{outboxMode}
	hostKey := both(hosted, func(f *inspect.App, _ *inspect.Poller) { f.HostAccount.Key = true })
	return []verdictCase{
		{"source-tls", nil, nil, OK, "db.example.com has to prove its name"},
		{"source-tls", nil, link(func(l *inspect.Link) { l.Safety = engine.LinkLocal }), OK, "stays on this machine"},
		{"source-tls", nil, link(func(l *inspect.Link) { l.Safety, l.How = engine.LinkUnverified, "sslmode is require" }),
			ToMend, "sslmode is require"},
		{"source-tls", nil, link(func(l *inspect.Link) { l.Safety, l.How = engine.LinkPlain, "not encrypted" }), ToMend,
			"not encrypted"},
		{"source-tls", nil, func(_ *inspect.App, p *inspect.Poller) { p.Links = p.Links[1:] }, CannotTell, "has a fault"},
		{"output-tls", nil, nil, OK, "the output: verified TLS"},
		{"output-tls", nil, func(_ *inspect.App, p *inspect.Poller) { p.Links = p.Links[:1] }, NoMatter, ""},
		{"output-tls", nil, both(func(_ *inspect.App, p *inspect.Poller) { p.Links[1].Safety = engine.LinkLocal }), OK,
			"the output: this machine"},
		{"output-tls", nil, to(plain), ToMend, "amqps"},
		{"output-tls", nil, to(inspect.Link{What: "the output", Safety: engine.LinkUnverified, How: "anybody answers",
			Mend: "name the authority"}), ToMend, "anybody answers"},
		{"output-tls", blob, nil, OK, "the state store: verified TLS"},
		{"output-tls", blob, func(f *inspect.App, _ *inspect.Poller) {
			f.Store.Link.Safety, f.Store.Link.Mend = engine.LinkPlain, "write https"
		}, ToMend, "the state store"},
		// which it does not use
		{"output-tls", append([]string{outboxMode}, blob...), func(f *inspect.App, _ *inspect.Poller) {
			f.Store.Link.Safety = engine.LinkPlain
		}, OK, ""},
		{"output-tls", nil, func(f *inspect.App, _ *inspect.Poller) {
			f.Telemetry.Links = []inspect.Link{{What: "telemetry", Safety: engine.LinkPlain, How: "plain http",
				Mend: "write an https endpoint"}}
		}, ToMend, "telemetry: plain http"},
		{"login-rights", nil, nil, OK, "reader is no administrator"},
		{"login-rights", nil, engineName("sqlite"), NoMatter, ""},
		{"login-rights", nil, untold, CannotTell, "denied"},
		{"login-rights", nil, rights(func(r *engine.Rights) { r.Roles = []string{"r"} }), CannotTell, "role(s) r"},
		{"login-rights", nil, rights(func(r *engine.Rights) { r.Admin = []string{"db_owner"} }), ToMend, "db_owner"},
		{"login-rights", nil, rights(func(r *engine.Rights) { r.Admin = []string{"a member of pg_write_all_data"} }), ToMend,
			"reader is a member of pg_write_all_data"},
		{"read-only", nil, nil, OK, "may only read"},
		{"read-only", outbox, nil, NoMatter, ""},
		{"read-only", nil, engineName("sqlite"), NoMatter, ""},
		{"read-only", nil, untold, CannotTell, "denied"},
		{"read-only", query, nil, CannotTell, "a query"},
		{"read-only", nil, rights(func(r *engine.Rights) { r.Writes = []string{"DELETE"} }), ToMend,
			"REVOKE DELETE on orders"},
		{"read-only", nil, rights(func(r *engine.Rights) { r.Admin = []string{"securityadmin"} }), ToMend,
			"has no right to write, but rules: it is securityadmin"},
		{"read-only", nil, rights(func(r *engine.Rights) { r.Admin, r.Writes = []string{"db_owner"}, []string{"UPDATE"} }),
			ToMend, "REVOKE UPDATE on orders"},
		{"read-only", nil, rights(func(r *engine.Rights) { r.Roles = []string{"PUBLIC"} }), CannotTell, "PUBLIC"},
		{"identities", nil, nil, NoMatter, "no service here"},
		{"identities", nil, link(func(l *inspect.Link) { l.Secret = false }), NoMatter, "nothing logs in"},
		{"identities", nil, link(func(l *inspect.Link) { l.Entra = true }), ToMend, "DB"},
		{"identities", nil, link(func(l *inspect.Link) { l.Entra, l.Secret = true, false }), OK, "identities only"},
		{"identities", nil, to(inspect.Link{Setting: "SB", Secret: false, Entra: true}), OK,
			"these take none: DB (postgres)"},
		{"identities", nil, to(inspect.Link{Setting: "SB", Secret: true, Entra: true}), ToMend, "SB"},
		{"identities", nil, link(func(l *inspect.Link) { l.Kind, l.Host, l.Unsure = "sqlserver", "sql.example.com", true }),
			CannotTell, "DB (sqlserver at sql.example.com)"},
		{"identities", nil, both(link(func(l *inspect.Link) { l.Unsure = true }),
			to(inspect.Link{Setting: "SB", Secret: true, Entra: true})), ToMend, "SB"},
		{"identities", nil, both(link(func(l *inspect.Link) { l.Unsure = true }),
			to(inspect.Link{Setting: "SB", Entra: true})), CannotTell, "DB"},
		{"identities", blob, nil, ToMend, "AzureWebJobsStorage"},
		{"identities", nil, hostKey, ToMend, "AzureWebJobsStorage (the host's)"},
		// there is no host that has it
		{"identities", nil, func(f *inspect.App, _ *inspect.Poller) { f.HostAccount.Key = true }, NoMatter, ""},
	}
}
