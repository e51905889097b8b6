package inspect

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/loopback"
	"github.com/rowrelay/rowrelay/telemetry/otlp"
)

// Link is a connection that the app makes, as its settings say it.
type Link struct {
	What    string // the source, the output …, for people
	Setting string // that holds it; "" where none does
	Kind    string // an engine, the kind of an output …, for people
	Host    string
	Safety  engine.Link
	How     string // why it is not verified
	Mend    string
	Secret  bool // the setting holds a password or a key, not only an identity
	Entra   bool // an identity could take the secret's place
	Unsure  bool // whether one could is not known
}

// TheSource is a [Link]'s What for the connection to the database.
const TheSource = "the source"

// Telemetry is where the OTEL_ variables send traces and metrics.
type Telemetry struct {
	Links   []Link   // one for each receiver
	Metrics *Link    // nil: metrics are not exported
	Faults  []string // what is wrong with the variables
}

// StateLink is the connection to the state store; nil where it is no service.
func StateLink(s *config.State) *Link {
	const what = "the state store"
	switch s.Kind {
	case "blob":
		return storageLink(what, &s.Connection, azure.BlobEndpoint(&s.Connection))
	case "table":
		return storageLink(what, &s.Connection, azure.TableEndpoint(&s.Connection))
	case "sql":
		if conn, err := ConnectionOf(&s.Database); err == nil && conn.Engine != "" {
			return databaseLink(what, s.Database.Setting, conn)
		}
	}
	return nil
}

// ConnectionOf reads a database's setting; the zero Connection where config has said what is missing.
func ConnectionOf(d *config.Database) (engine.Connection, error) {
	switch {
	case d.ConnectionString != "":
		return engines.ParseOf(d.Setting, d.ConnectionString.Reveal())
	case d.Server != "":
		return engines.ByIdentity(d.Server, d.Database, d.Credential, d.ClientID)
	}
	return engine.Connection{}, nil
}

func databaseLink(what, setting string, conn engine.Connection) *Link {
	host, _, _ := strings.Cut(conn.Identity, "/")
	l := &Link{What: what, Setting: setting, Kind: conn.Engine, Host: host, Safety: conn.Link, Secret: conn.Secret,
		How: strings.Join(conn.Warnings, "; "), Mend: "see source__connection in docs/settings.md"}
	if conn.Engine == "sqlserver" {
		l.Entra = !l.Secret || isIn(host, entraDatabases)
		// a server that knows none, or a name of the operator's own for one that does
		l.Unsure = !l.Entra && l.Safety != engine.LinkLocal
	}
	return l
}

// LinksOf are the connections of a poller, the state store's left out.
func LinksOf(p *config.Poller, conn engine.Connection) []Link {
	var links []Link
	if conn.Engine != "" {
		links = append(links, *databaseLink(TheSource, p.Source.Connection.Setting, conn))
	}
	for i := range p.Outputs {
		if l := outputLink(&p.Outputs[i]); l != nil {
			links = append(links, *l)
		}
	}
	if d := &p.DeadLetter; d.Kind == "queue" {
		links = append(links, *storageLink("the queue of dead letters", &d.Connection, azure.QueueEndpoint(&d.Connection)))
	}
	if s := &p.Source; s.FanoutQueue != "" {
		links = append(links, *storageLink("the fan-out queue", &s.Fanout, azure.QueueEndpoint(&s.Fanout)))
	}
	return links
}

// Route is where an output's events come from and go to: the engine and its host, the kind and its host. Without a host
// where there is none, as of a file.
func (p *Poller) Route(out *config.Output) (from, to string) {
	from, to = p.Engine, out.Kind
	for i := range p.Links {
		if l := &p.Links[i]; l.What == TheSource && l.Host != "" {
			from += " " + l.Host
		}
	}
	if l := outputLink(out); l != nil && l.Host != "" {
		to += " " + l.Host
	}
	return from, to
}

// entraDatabases are the names of databases that know identities, in Azure's clouds: SQL Database, Managed Instance and
// Fabric.
var entraDatabases = []string{".database.windows.net", ".database.usgovcloudapi.net", ".database.chinacloudapi.cn",
	".fabric.microsoft.com"}

// isIn reports whether a host, with a port or an instance or without, is in one of the domains.
func isIn(host string, domains []string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	name, _, _ = strings.Cut(name, `\`)
	return slices.ContainsFunc(domains, func(domain string) bool { return strings.HasSuffix(name, domain) })
}

func outputLink(out *config.Output) *Link {
	what := "the output"
	if out.Name != "" {
		what += " " + out.Name
	}
	l := &Link{What: what, Setting: out.Broker.Setting, Kind: out.Kind, Safety: engine.LinkVerified,
		Secret: out.Broker.ConnectionString != "" || out.Broker.ClientSecret != ""}
	switch out.Kind {
	case "http":
		u, err := url.Parse(out.URL.Reveal())
		if err != nil {
			return nil // config has refused it
		}
		l.Setting, l.Host = "output__url", u.Hostname()
		rate(l, u.Hostname(), u.Scheme == "https", "plain http", "write an https URL")
	case "queue":
		return storageLink(what, &out.Connection, azure.QueueEndpoint(&out.Connection))
	case "sql":
		conn, err := ConnectionOf(&out.Database)
		if err != nil || conn.Engine == "" {
			return nil // a fault, which is told
		}
		return databaseLink(what, out.Database.Setting, conn)
	case "rabbitmq":
		u, err := url.Parse(out.Broker.ConnectionString.Reveal())
		if err != nil {
			return nil
		}
		rate(l, u.Hostname(), u.Scheme == "amqps", "amqp, which is AMQP without TLS", "write an amqps URL")
	case "kafka", "eventhubs", "servicebus":
		l.Host, l.Entra = out.Broker.Namespace, true
		if l.Host == "" && !readBroker(l, out.Kind, out.Broker.ConnectionString.Reveal()) {
			return nil // a fault, which is told
		}
	default:
		return nil // stdout
	}
	return l
}

// rate says what a scheme makes of the way to a host.
func rate(l *Link, host string, secure bool, how, mend string) {
	l.Host = host
	switch {
	case loopback.Is(host):
		l.Safety = engine.LinkLocal
	case !secure:
		l.Safety, l.How, l.Mend = engine.LinkPlain, how, mend
	}
}

// storageLink is the connection to a service of a storage account.
func storageLink(what string, s *config.Storage, endpoint string) *Link {
	l := &Link{What: what, Setting: s.Setting, Kind: "storage", Safety: engine.LinkVerified,
		Secret: s.ConnectionString != "" || s.ClientSecret != "", Entra: true}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return l // a fault, which is told: the setting is missing, or the SDK refuses it
	}
	rate(l, u.Hostname(), u.Scheme == "https", "plain http",
		"write https: DefaultEndpointsProtocol=https, or an https endpoint")
	return l
}

// TelemetryLinks are the connections that export telemetry, one for each receiver.
func TelemetryLinks(exports []otlp.Export) (links []Link) {
	for _, e := range exports {
		l := Link{What: "the " + e.Signal, Setting: e.Variable, Kind: "otlp", Safety: engine.LinkVerified}
		rate(&l, e.Host, !e.Plain, e.Why, "write an https endpoint, and leave OTEL_EXPORTER_OTLP_INSECURE out")
		same := slices.IndexFunc(links, func(other Link) bool { return other.Setting == l.Setting && other.How == l.How })
		if same >= 0 {
			links[same].What = "telemetry"
			continue
		}
		links = append(links, l)
	}
	return links
}

// Leaves reports whether what is sent can be read or changed on its way to another machine.
func (l *Link) Leaves() bool {
	return l.Safety == engine.LinkPlain || l.Safety == engine.LinkUnverified
}

// Warning is what is said of a link that leaves this machine unverified.
func (l *Link) Warning() string {
	return fmt.Sprintf("the connection of %s to %s is not encrypted (%s): whoever is on the way can read and change what is sent; %s", l.What, l.Host, l.How, l.Mend)
}

func newTelemetry(env func(string) string) Telemetry {
	exports, faults := otlp.Exports(env)
	t := Telemetry{Links: TelemetryLinks(exports), Faults: faults}
	for _, e := range exports {
		if e.Signal == "metrics" {
			t.Metrics = &TelemetryLinks([]otlp.Export{e})[0]
		}
	}
	return t
}
