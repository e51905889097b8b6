package kafka

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/loopback"
)

// Connection says where the brokers are and who the sender is. Its String leaves the secret out.
type Connection struct {
	// Brokers are host:port, those that are asked for all others.
	Brokers []string
	// TLS encrypts, and proves the brokers' names by the certificates in CAFile, or by the system's where it is "".
	TLS    bool
	CAFile string
	// SASL is how User and Password are shown to the brokers; "" for not at all.
	SASL           Mechanism
	User, Password string

	key string // within Password, where that is a connection string
}

// Mechanism is a way of authentication (RFC 4422).
type Mechanism string

// The mechanisms of a user and a password.
const (
	Plain       Mechanism = "plain"
	ScramSHA256 Mechanism = "scram-sha-256"
	ScramSHA512 Mechanism = "scram-sha-512"
)

// String names the brokers, without user and password.
func (c Connection) String() string { return "kafka " + strings.Join(c.Brokers, ",") }

// GoString is String: %#v must not show the password.
func (c Connection) GoString() string { return c.String() }

const (
	defaultPort   = "9092"
	eventHubsPort = "9093"

	connectionForm = "write kafka://user:password@host:9092,host2:9092?tls=true&sasl=scram-sha-256, or an Event Hubs connection string"
)

// errConnection begins every error of ParseConnection. They quote nothing of the text, because any part of it may be a
// piece of a password with a character that was not percent-encoded.
var errConnection = errors.New("the kafka connection string")

func invalid(format string, args ...any) (Connection, error) {
	return Connection{}, fmt.Errorf("%w %s", errConnection, fmt.Sprintf(format, args...))
}

// ParseConnection reads what output__connection names: either
//
//	kafka://user:password@host:9092,host2:9092?tls=true&sasl=scram-sha-256&ca=/etc/kafka/ca.pem
//
// where only a host is required, and user and password are percent-encoded; or an Event Hubs connection string. tls is
// true as soon as a broker is another machine, sasl plain where there is a user, and ca the system's certificates
// unless said. Without TLS nothing is sent to another machine, and no password by the mechanism plain, unless the text
// says tls=false.
func ParseConnection(text string) (Connection, error) {
	text = strings.TrimSpace(text)
	if rest, ok := cutScheme(text); ok {
		return parseURL(rest)
	}
	if hasMember(text, "Endpoint") {
		return parseEventHubs(text)
	}
	return invalid("has neither the form of a kafka:// URL nor that of Event Hubs: %s", connectionForm)
}

func cutScheme(text string) (string, bool) {
	const scheme = "kafka://"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return "", false
	}
	return text[len(scheme):], true
}

// parseURL reads what follows kafka://. net/url takes no list of hosts.
func parseURL(text string) (Connection, error) {
	var c Connection
	text, query, _ := strings.Cut(text, "?")
	at := strings.LastIndexByte(text, '@')
	hosts := strings.TrimSuffix(text[at+1:], "/")
	if strings.ContainsAny(query, "@") || strings.ContainsAny(text, "#") || strings.ContainsAny(hosts, "/") {
		return invalid("is not readable: percent-encode the characters / ? # @ of user and password, and say topics by output__destination")
	}
	if at >= 0 {
		user, password, _ := strings.Cut(text[:at], ":")
		var err, err2 error
		c.User, err = url.PathUnescape(user)
		c.Password, err2 = url.PathUnescape(password)
		if err != nil || err2 != nil {
			return invalid("has a %% in user or password that begins no percent-encoded character: write %%25")
		}
		if c.User == "" || c.Password == "" {
			return invalid("has a user or a password, but not both")
		}
		c.SASL = Plain
	}
	for i, host := range strings.Split(hosts, ",") {
		broker, ok := brokerOf(host, defaultPort)
		if !ok {
			return invalid("has no host:port as broker %d: %s", i+1, connectionForm)
		}
		c.Brokers = append(c.Brokers, broker)
	}
	return c.withParameters(query)
}

func (c Connection) withParameters(query string) (Connection, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return invalid("has parameters after ? that cannot be read")
	}
	saidTLS := false
	c.TLS = values.Get("ca") != "" || !c.Local()
	for name, all := range values {
		if len(all) != 1 {
			return invalid("has a parameter twice")
		}
		value := all[0]
		switch name {
		case "tls":
			if saidTLS = value == "true" || value == "false"; !saidTLS {
				return invalid("has tls neither true nor false")
			}
			c.TLS = value == "true"
		case "ca":
			c.CAFile = value
		case "sasl":
			c.SASL = Mechanism(strings.ToLower(value))
			if c.SASL != Plain && c.SASL != ScramSHA256 && c.SASL != ScramSHA512 {
				return invalid("has an unknown sasl: choose of %s, %s, %s", Plain, ScramSHA256, ScramSHA512)
			}
		default:
			return invalid("has an unknown parameter: choose of tls, sasl, ca")
		}
	}
	switch {
	case c.SASL != "" && c.User == "":
		return invalid("has sasl, and no user and password")
	case c.SASL == Plain && !c.TLS && !saidTLS:
		return invalid("would send the password in the clear: say tls=true, or tls=false where that is meant")
	case c.CAFile != "" && !c.TLS:
		return invalid("has ca, and not tls=true")
	}
	return c, nil
}

// Local reports whether every broker that is asked first is this machine.
func (c Connection) Local() bool {
	return !slices.ContainsFunc(c.Brokers, func(broker string) bool {
		host, _, err := net.SplitHostPort(broker)
		return err != nil || !loopback.Is(host)
	})
}

// brokerOf completes and checks host, host:port or [IPv6]:port.
func brokerOf(host, port string) (string, bool) {
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	legal := host != "" && err == nil && n > 0 && !strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"'%/\<>@[]`, r)
	})
	if strings.Contains(host, ":") && net.ParseIP(host) == nil {
		legal = false
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), legal
}

// parseEventHubs reads the connection string of a namespace or of one event hub. The whole of it is the password (Event
// Hubs for Apache Kafka, "Security and authentication").
func parseEventHubs(text string) (Connection, error) {
	endpoint := member(text, "Endpoint")
	host, ok := strings.CutPrefix(strings.ToLower(endpoint), "sb://")
	host, ok2 := brokerOf(strings.TrimSuffix(host, "/"), eventHubsPort)
	if !ok || !ok2 {
		return invalid("of Event Hubs has no Endpoint=sb://NAMESPACE.servicebus.windows.net/")
	}
	key := member(text, "SharedAccessKey")
	if signature := member(text, "SharedAccessSignature"); signature != "" {
		key = signature
	} else if key == "" || !hasMember(text, "SharedAccessKeyName") {
		return invalid("of Event Hubs has no SharedAccessKeyName and SharedAccessKey; for an identity set output__connection's fullyQualifiedNamespace instead")
	}
	c := Connection{Brokers: []string{host}, TLS: true, SASL: Plain, User: "$ConnectionString", Password: text, key: key}
	if strings.EqualFold(member(text, "UseDevelopmentEmulator"), "true") {
		name, _, _ := net.SplitHostPort(host)
		c.TLS, c.Brokers = false, []string{net.JoinHostPort(name, defaultPort)}
	}
	return c, nil
}

// EventHubs is the Kafka endpoint of a namespace, NAME.servicebus.windows.net, for an identity: see Config.Credential.
func EventHubs(namespace string) (Connection, error) {
	broker, ok := brokerOf(strings.TrimSpace(namespace), eventHubsPort)
	if !ok {
		return invalid("of Event Hubs has no fullyQualifiedNamespace of the form NAME.servicebus.windows.net")
	}
	return Connection{Brokers: []string{broker}, TLS: true}, nil
}

// member returns a value of name=value;… where names have any case and values may hold "=".
func member(text, name string) string {
	for part := range strings.SplitSeq(text, ";") {
		if k, v, ok := strings.Cut(part, "="); ok && strings.EqualFold(strings.TrimSpace(k), name) {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func hasMember(text, name string) bool { return member(text, name) != "" }
