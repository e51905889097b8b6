package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/telemetry"
)

// link is a connection that the app makes, as its settings say it.
type link struct {
	what    string // the source, the output …, for people
	setting string // that holds it
	kind    string // an engine, or the kind of an output; "storage" for the state, dead letters and fan-out
	host    string
	safety  source.Link
	how     string // why it is not verified
	mend    string
	secret  bool // the setting holds a password or a key, not only an identity
	entra   bool // an identity could take the secret's place
	unsure  bool // whether one could is not known
}

// leaves reports whether what is sent can be read or changed on its way to another machine.
func (l *link) leaves() bool {
	return l.safety == source.LinkPlain || l.safety == source.LinkUnverified
}

// stateLink is the connection to the state store; nil where it is no service.
func stateLink(cfg *config.App) *link {
	if cfg.State.Kind != "blob" {
		return nil
	}
	return storageLink("the state store", &cfg.State.Connection, "blob")
}

// linksOf are the connections of a poller, the state store's left out.
func linksOf(w *wired) []link {
	var links []link
	if w.conn.Engine != "" {
		host, _, _ := strings.Cut(w.conn.Identity, "/")
		l := link{
			what: "the source", setting: w.cfg.Source.Connection.Setting, kind: w.conn.Engine, host: host, safety: w.conn.Link, secret: w.conn.Secret,
			how: strings.Join(w.conn.Warnings, "; "), mend: "see source__connection in docs/settings.md",
		}
		if w.conn.Engine == "sqlserver" {
			l.entra = !l.secret || isIn(host, entraDatabases)
			l.unsure = !l.entra && l.safety != source.LinkLocal // a server that knows none, or a name of the operator's own for one that does
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

func outputLink(out *config.Output) *link {
	what := "the output"
	if out.Name != "" {
		what += " " + out.Name
	}
	l := &link{what: what, setting: out.Broker.Setting, kind: out.Kind, safety: source.LinkVerified, secret: out.Broker.ConnectionString != "" || out.Broker.ClientSecret != ""}
	switch out.Kind {
	case "http":
		u, err := url.Parse(out.URL.Reveal())
		if err != nil {
			return nil // config has refused it
		}
		l.setting, l.host = "output__url", u.Hostname()
		l.rate(u.Hostname(), u.Scheme == "https", "plain http", "write an https URL")
	case "queue":
		return storageLink(what, &out.Connection, "queue")
	case "rabbitmq":
		u, err := url.Parse(out.Broker.ConnectionString.Reveal())
		if err != nil {
			return nil
		}
		l.rate(u.Hostname(), u.Scheme == "amqps", "amqp, which is AMQP without TLS", "write an amqps URL")
	case "kafka":
		if out.Broker.Namespace != "" {
			l.host, l.entra = out.Broker.Namespace, true
			return l
		}
		c, err := kafka.ParseConnection(out.Broker.ConnectionString.Reveal())
		if err != nil {
			return nil
		}
		l.host, l.entra = strings.Join(c.Brokers, ","), isIn(c.Brokers[0], entraBrokers)
		switch {
		case c.Local():
			l.safety = source.LinkLocal
		case !c.TLS:
			l.safety, l.how, l.mend = source.LinkPlain, "tls=false", "remove tls=false: TLS is the default to another machine"
		}
	case "eventhubs", "servicebus":
		l.entra = true
		if out.Broker.Namespace != "" {
			l.host = out.Broker.Namespace
			return l
		}
		c, err := azmessaging.ParseConnection(out.Broker.ConnectionString.Reveal())
		if err != nil {
			return nil
		}
		host, _, _ := strings.Cut(c.Namespace, ":")
		l.rate(host, !c.Emulator, "UseDevelopmentEmulator=true, which is AMQP without TLS", "use the namespace's own connection string")
	default:
		return nil // stdout
	}
	return l
}

// rate says what a scheme makes of the way to a host.
func (l *link) rate(host string, secure bool, how, mend string) {
	l.host = host
	switch {
	case source.Loopback(host):
		l.safety = source.LinkLocal
	case !secure:
		l.safety, l.how, l.mend = source.LinkPlain, how, mend
	}
}

// storageLink is the connection to a service of a storage account.
func storageLink(what string, s *config.Storage, service string) *link {
	l := &link{what: what, setting: s.Setting, kind: "storage", safety: source.LinkVerified, secret: s.ConnectionString != "" || s.ClientSecret != "", entra: true}
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
	l.rate(u.Hostname(), u.Scheme == "https", "plain http", "write https: DefaultEndpointsProtocol=https, or an https endpoint")
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
func telemetryLinks(exports []telemetry.Export) (links []link) {
	for _, e := range exports {
		l := link{what: "the " + e.Signal, setting: e.Variable, kind: "otlp", safety: source.LinkVerified}
		l.rate(e.Host, !e.Plain, e.Why, "write an https endpoint, and leave OTEL_EXPORTER_OTLP_INSECURE out")
		same := slices.IndexFunc(links, func(other link) bool { return other.setting == l.setting && other.how == l.how })
		if same >= 0 {
			links[same].what = "telemetry"
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
		if l.leaves() {
			a.cfg.Warnings.Add(l.setting, l.warning(), "")
		}
	}
	if l := stateLink(a.cfg); l != nil && l.leaves() {
		a.cfg.Warnings.Add(l.setting, l.warning(), "")
	}
	for _, w := range a.pollers {
		for _, l := range linksOf(w) {
			if l.leaves() && l.kind != "http" && l.kind != w.conn.Engine && !slices.ContainsFunc(w.warnings, func(f config.Fault) bool { return f.Problem == l.warning() }) {
				w.warnings.Add(l.setting, l.warning(), "")
			}
		}
	}
}

// warning is what is said of a link that leaves this machine unverified.
func (l *link) warning() string {
	return fmt.Sprintf("the connection of %s to %s is not encrypted (%s): whoever is on the way can read and change what is sent; %s", l.what, l.host, l.how, l.mend)
}
