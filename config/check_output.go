package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/loopback"
	"github.com/rowrelay/rowrelay/mode"
)

// binaryFormat is the binary mode of CloudEvents over HTTP: headers beside one event's data.
const binaryFormat = "cloudevents_binary"

// checkFormat fills in the defaults, and sees to it that the output can send the format, and rows have what it sends.
func checkFormat(p *Poller, s *scope, out *Output) {
	switch {
	case !s.has("format") && s.mode.Can(mode.Events) && isBroker(out.Kind):
		out.Format = "payload"
	case !s.has("format"), out.Format == "payload" && !s.own("format") && !s.mode.Can(mode.Events):
		out.Format = "cloudevents"
	case out.Format == "payload" && s.mode != "" && !s.mode.Can(mode.Events) && s.ok("format"):
		s.fault("format", `"payload" is for events of an outbox: rows of a table have no payload`,
			"Write row for the row's JSON, or source__mode=outbox")
	case out.Format == "sqltrigger" && p.Source.EveryChange:
		s.fault("format", "is that of the Azure SQL trigger, which tells the last change of each key, and source__every_change tells "+
			"every one", "Write cloudevents or rowchange, or remove "+p.Setting("source__every_change"))
	case out.Format == binaryFormat:
		checkBinary(s, out)
	}
	checkSingle(s, out)
	if out.Format != "cloudevents" && out.Format != binaryFormat && s.ok("format") {
		warnUnused(p, s, "has no effect with "+s.prefix+"format="+out.Format, []string{"type", "source"})
		return
	}
	checkType(s, out.Type)
}

// checkBinary sees to it that there are headers for the attributes. An output that is switched to stdout for a moment
// writes the structured mode.
func checkBinary(s *scope, out *Output) {
	switch {
	case !s.ok("format", "kind"):
	case out.Kind != "http" && out.Kind != "stdout":
		s.fault("format", `"cloudevents_binary" is for outputs of kind http: it puts the event's attributes into HTTP headers`,
			"Write cloudevents")
	}
}

// checkSingle sees to it that a request carries one event where it says more of it than a body does. The reasons other
// than the format are those of HTTP alone.
func checkSingle(s *scope, out *Output) {
	why, mend := "", ""
	switch {
	case out.Format == binaryFormat:
		why, mend = "format="+binaryFormat+": its headers tell of one event", s.named("format")+"=cloudevents"
	case out.Kind == "http" && out.URL.template():
		why, mend = "a template in url: a URL is that of one event", "take the braces out of "+s.named("url")
	case out.Kind == "http" && len(out.Methods) > 0:
		why, mend = "methods__…: a method is that of one event", s.prefix+"method instead"
	}
	switch {
	case why == "" || !s.ok("format", "batch"):
	case !s.own("batch"):
		out.Batch = 1
	case out.Batch > 1:
		s.fault("batch", "must be 1 with "+why, "Write 1, or "+mend)
	}
}

// checkType sees to it that a type holds no other placeholder than the one that the mode fills in.
func checkType(s *scope, text string) {
	if text == "" || s.mode == "" || !s.ok("type") {
		return
	}
	placeholder := "{op}"
	if s.mode.Can(mode.Events) {
		placeholder = "{event_type}"
	}
	if strings.ContainsAny(strings.ReplaceAll(text, placeholder, ""), "{}") {
		s.fault("type", fmt.Sprintf("%q holds a brace: with source__mode=%s, %s is what is filled in, and nothing else",
			text, s.mode, placeholder),
			"Write such as com.example.order."+placeholder)
	}
}

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

// checkSQLOutput sees to it that what the guard of a table compares goes on: it knows late requests by fencing tokens,
// which begin anew where a state is forgotten, and which rows of other modes do not have.
func (l *loader) checkSQLOutput(p *Poller, s *scope, out *Output) {
	const key = "connection"
	out.Format = "row" // what is written of an event
	switch {
	case out.ConnectionSetting == "" && s.ok(key):
		s.fault(key, "is required for an output of kind sql",
			"Name the setting that holds the database's connection, such as "+s.prefix+key+"=COPY_DB")
	case s.ok(key):
		out.Database = l.env.database(s, key, out.ConnectionSetting)
	}
	if out.Table == "" && s.ok("table") {
		if out.Table = p.Source.Table; out.Table == "" {
			s.fault("table", "is required: a query has no name that the destination could have",
				"Name the table, such as "+s.prefix+"table=orders")
		}
	}
	from, to := p.Source.Connection, out.Database
	from.Setting, to.Setting = "", ""
	switch {
	case !s.ok("kind"):
	case s.ok(key, "table") && from == to && strings.EqualFold(out.Table, p.Source.Table) && to != (Database{}):
		s.fault("table", "is the table that is read: each row would come again for ever", "Name another table, or another database")
	case s.mode != "" && !s.mode.Can(mode.Document):
		s.fault("kind", "is sql, and events of source__mode="+string(s.mode)+" are no states of rows",
			"Send them to a URL or a broker, or use source__mode=cursor or changetracking")
	case p.Source.EveryChange:
		s.fault("kind", "is sql, and with source__every_change events are changes, and no states of rows",
			"Send them to a URL or a broker, or remove "+p.Setting("source__every_change"))
	case p.Ordering == "none":
		s.fault("kind", "is sql, and with ordering=none an older state could replace a newer one", "Remove "+p.Setting("ordering"))
	case l.app.State.Kind == "memory":
		s.fault("kind", "is sql, and state__kind=memory forgets the fencing token by which late requests are known",
			"Write state__kind=file, sql or blob")
	}
}

// warnUnused names settings of another kind of output. They are no faults: to switch an output to stdout for a moment
// is one setting, and should stay one.
func warnUnused(p *Poller, s *scope, why string, unused []string) {
	for _, key := range s.keys() {
		for _, u := range unused {
			if !s.ok(key) {
				continue
			}
			if key == u || (strings.HasSuffix(u, "__") && strings.HasPrefix(key, u)) {
				p.Warnings.Add(s.named(key), why, "Remove it if it is not needed any more")
			}
		}
	}
}
