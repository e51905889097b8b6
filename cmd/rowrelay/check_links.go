package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/loopback"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/production"
	"github.com/rowrelay/rowrelay/telemetry"
)

// stateLink is the connection to the state store; nil where it is no service.
func stateLink(cfg *config.App) *production.Link {
	if cfg.State.Kind != "blob" {
		return nil
	}
	return storageLink("the state store", &cfg.State.Connection, "blob")
}

// linksOf are the connections of a poller, the state store's left out.
func linksOf(w *wired) []production.Link {
	var links []production.Link
	if w.conn.Engine != "" {
		host, _, _ := strings.Cut(w.conn.Identity, "/")
		l := production.Link{
			What: "the source", Setting: w.cfg.Source.Connection.Setting, Kind: w.conn.Engine, Host: host, Safety: w.conn.Link, Secret: w.conn.Secret,
			How: strings.Join(w.conn.Warnings, "; "), Mend: "see source__connection in docs/settings.md",
		}
		if w.conn.Engine == "sqlserver" {
			l.Entra = !l.Secret || isIn(host, entraDatabases)
			l.Unsure = !l.Entra && l.Safety != engine.LinkLocal // a server that knows none, or a name of the operator's own for one that does
		}
		links = append(links, l)
	}
	for i := range w.cfg.Outputs {
		if l := outputLink(&w.cfg.Outputs[i]); l != nil {
			links = append(links, *l)
		}
	}
	if d := &w.cfg.DeadLetter; d.Kind == "queue" {
		links = append(links, *storageLink("the queue of dead letters", &d.Connection, "queue"))
	}
	if s := &w.cfg.Source; s.FanoutQueue != "" {
		links = append(links, *storageLink("the fan-out queue", &s.Fanout, "queue"))
	}
	return links
}

// The names of services that know identities, in Azure's clouds: SQL Database, Managed Instance and Fabric; Event Hubs.
var (
	entraDatabases = []string{".database.windows.net", ".database.usgovcloudapi.net", ".database.chinacloudapi.cn", ".fabric.microsoft.com"}
	entraBrokers   = []string{".servicebus.windows.net", ".servicebus.usgovcloudapi.net", ".servicebus.chinacloudapi.cn"}
)

// isIn reports whether a host, with a port or an instance or without, is in one of the domains.
func isIn(host string, domains []string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	name, _, _ = strings.Cut(name, `\`)
	return slices.ContainsFunc(domains, func(domain string) bool { return strings.HasSuffix(name, domain) })
}

func outputLink(out *config.Output) *production.Link {
	what := "the output"
	if out.Name != "" {
		what += " " + out.Name
	}
	l := &production.Link{What: what, Setting: out.Broker.Setting, Kind: out.Kind, Safety: engine.LinkVerified, Secret: out.Broker.ConnectionString != "" || out.Broker.ClientSecret != ""}
	switch out.Kind {
	case "http":
		u, err := url.Parse(out.URL.Reveal())
		if err != nil {
			return nil // config has refused it
		}
		l.Setting, l.Host = "output__url", u.Hostname()
		rate(l, u.Hostname(), u.Scheme == "https", "plain http", "write an https URL")
	case "queue":
		return storageLink(what, &out.Connection, "queue")
	case "rabbitmq":
		u, err := url.Parse(out.Broker.ConnectionString.Reveal())
		if err != nil {
			return nil
		}
		rate(l, u.Hostname(), u.Scheme == "amqps", "amqp, which is AMQP without TLS", "write an amqps URL")
	case "kafka":
		if out.Broker.Namespace != "" {
			l.Host, l.Entra = out.Broker.Namespace, true
			return l
		}
		c, err := kafka.ParseConnection(out.Broker.ConnectionString.Reveal())
		if err != nil {
			return nil
		}
		l.Host, l.Entra = strings.Join(c.Brokers, ","), isIn(c.Brokers[0], entraBrokers)
		switch {
		case c.Local():
			l.Safety = engine.LinkLocal
		case !c.TLS:
			l.Safety, l.How, l.Mend = engine.LinkPlain, "tls=false", "remove tls=false: TLS is the default to another machine"
		}
	case "eventhubs", "servicebus":
		l.Entra = true
		if out.Broker.Namespace != "" {
			l.Host = out.Broker.Namespace
			return l
		}
		c, err := azmessaging.ParseConnection(out.Broker.ConnectionString.Reveal())
		if err != nil {
			return nil
		}
		host, _, _ := strings.Cut(c.Namespace, ":")
		rate(l, host, !c.Emulator, "UseDevelopmentEmulator=true, which is AMQP without TLS", "use the namespace's own connection string")
	default:
		return nil // stdout
	}
	return l
}

// rate says what a scheme makes of the way to a host.
func rate(l *production.Link, host string, secure bool, how, mend string) {
	l.Host = host
	switch {
	case loopback.Is(host):
		l.Safety = engine.LinkLocal
	case !secure:
		l.Safety, l.How, l.Mend = engine.LinkPlain, how, mend
	}
}

// storageLink is the connection to a service of a storage account.
func storageLink(what string, s *config.Storage, service string) *production.Link {
	l := &production.Link{What: what, Setting: s.Setting, Kind: "storage", Safety: engine.LinkVerified, Secret: s.ConnectionString != "" || s.ClientSecret != "", Entra: true}
	endpoint := s.BlobServiceURI
	if service == "queue" {
		endpoint = s.QueueServiceURI
	}
	if s.ConnectionString != "" {
		endpoint = storageEndpoint(s.ConnectionString.Reveal(), service)
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return l // the SDK refuses it
	}
	rate(l, u.Hostname(), u.Scheme == "https", "plain http", "write https: DefaultEndpointsProtocol=https, or an https endpoint")
	return l
}

// storageEndpoint is the address that a storage connection string gives a service, as the SDK reads it.
func storageEndpoint(text, service string) string {
	members := storageMembers(text)
	if own := members[service+"endpoint"]; own != "" {
		return own
	}
	protocol, suffix := members["defaultendpointsprotocol"], members["endpointsuffix"]
	if protocol == "" {
		protocol = "https"
	}
	if suffix == "" {
		suffix = "core.windows.net"
	}
	return protocol + "://" + members["accountname"] + "." + service + "." + suffix
}

// storageMembers are the parts of a storage connection string, by their names in lower case.
func storageMembers(text string) map[string]string {
	members := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		members[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return members
}

// telemetryLinks are the connections that export telemetry, one for each receiver.
func telemetryLinks(exports []telemetry.Export) (links []production.Link) {
	for _, e := range exports {
		l := production.Link{What: "the " + e.Signal, Setting: e.Variable, Kind: "otlp", Safety: engine.LinkVerified}
		rate(&l, e.Host, !e.Plain, e.Why, "write an https endpoint, and leave OTEL_EXPORTER_OTLP_INSECURE out")
		same := slices.IndexFunc(links, func(other production.Link) bool { return other.Setting == l.Setting && other.How == l.How })
		if same >= 0 {
			links[same].What = "telemetry"
			continue
		}
		links = append(links, l)
	}
	return links
}

// warnLinks adds a warning for every connection that leaves this machine unverified. The sources' are there already, as
// warnings of their connection strings, and those of URLs, by config.
func (a *app) warnLinks(env func(string) string) {
	exports, _ := telemetry.Exports(env) // what is wrong with the variables is said where telemetry starts
	for _, l := range telemetryLinks(exports) {
		if l.Leaves() {
			a.cfg.Warnings.Add(l.Setting, warningOf(&l), "")
		}
	}
	if l := stateLink(a.cfg); l != nil && l.Leaves() {
		a.cfg.Warnings.Add(l.Setting, warningOf(l), "")
	}
	for _, w := range a.pollers {
		for _, l := range linksOf(w) {
			if l.Leaves() && l.Kind != "http" && l.Kind != w.conn.Engine && !slices.ContainsFunc(w.warnings, func(f config.Fault) bool { return f.Problem == warningOf(&l) }) {
				w.warnings.Add(l.Setting, warningOf(&l), "")
			}
		}
	}
}

// warning is what is said of a link that leaves this machine unverified.
func warningOf(l *production.Link) string {
	return fmt.Sprintf("the connection of %s to %s is not encrypted (%s): whoever is on the way can read and change what is sent; %s", l.What, l.Host, l.How, l.Mend)
}
