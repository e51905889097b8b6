package config

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/rowrelay/rowrelay/mode"
)

// isBroker reports whether an output of this kind sends to a broker.
func isBroker(kind string) bool {
	switch kind {
	case "rabbitmq", "kafka", "eventhubs", "servicebus":
		return true
	}
	return false
}

// brokerExamples show what the setting that a connection names holds.
var brokerExamples = map[string]string{
	"rabbitmq":   "amqps://user:password@rabbitmq.example.com/vhost",
	"kafka":      "kafka://user:password@kafka-1.example.com:9092,kafka-2.example.com:9092?tls=true&sasl=scram-sha-256",
	"eventhubs":  "Endpoint=sb://<namespace>.servicebus.windows.net/;SharedAccessKeyName=…;SharedAccessKey=…",
	"servicebus": "Endpoint=sb://<namespace>.servicebus.windows.net/;SharedAccessKeyName=…;SharedAccessKey=…",
}

func (l *loader) checkBroker(s *scope, out *Output) {
	const key = "connection"
	switch {
	case out.ConnectionSetting == "" && s.ok(key):
		s.fault(key, "is required for an output of kind "+out.Kind,
			"Name the setting that holds the broker's connection, such as "+s.prefix+key+"="+strings.ToUpper(out.Kind))
	case s.ok(key):
		out.Broker = l.env.broker(s, key, out.ConnectionSetting, out.Kind)
	}
	if s.mode == "" || s.mode.Can(mode.Events) || !s.ok("destination") {
		return
	}
	for _, name := range []string{"{aggregate_type}", "{aggregate_id}", "{event_type}"} {
		if strings.Contains(out.Destination, name) {
			s.fault("destination", "holds "+name+", which rows of a table do not have",
				"Write {poller}, {app} or {op}, or source__mode=outbox")
			return
		}
	}
}

// broker resolves the connection of a broker. That of an Azure service is found as the Functions host does:
// AzureWebJobs<name> first, then <name>; for each a value is a connection string, which wins, and otherwise <name>__…
// is the identity form. kafka is among them, because Event Hubs may be what stands behind it.
func (e environ) broker(s *scope, key, name, kind string) Broker {
	isAzure := kind != "rabbitmq"
	candidates := []string{name}
	if isAzure {
		candidates = []string{"AzureWebJobs" + name, name}
	}
	for _, candidate := range candidates {
		for _, form := range []string{"", "CUSTOMCONNSTR_", "SERVICEBUSCONNSTR_", "EVENTHUBCONNSTR_"} {
			if found, value, flaw, ok := e.find(form + candidate); ok {
				if !e.resolved(s, key, found, value, flaw) {
					return Broker{Setting: found}
				}
				return brokerString(s, key, found, value, kind)
			}
		}
		if isAzure {
			if b, ok := e.brokerIdentity(s, key, candidate); ok {
				return b
			}
		}
	}
	mend := "Set " + name + " to the broker's connection, such as " + brokerExamples[kind]
	switch {
	case kind == "kafka":
		mend += ", or for Event Hubs to its connection string or " + name + "__fullyQualifiedNamespace"
	case isAzure:
		mend += ", or " + name + "__fullyQualifiedNamespace for an identity"
	}
	s.fault(key, nameOf(s, key, name)+", which is not set", e.withNear(name, mend))
	return Broker{Setting: name}
}

// brokerString takes a connection string. What is wrong with it is said without any part of it.
func brokerString(s *scope, key, found, value, kind string) Broker {
	b := Broker{Setting: found}
	if problem := brokerFlaw(kind, value); problem != "" {
		s.bad[key] = true
		s.faults.Add(found, problem+" ("+s.named(key)+" needs one)", "Write it in the form "+brokerExamples[kind])
		return b
	}
	b.ConnectionString = Secret(value)
	return b
}

const kafkaScheme = "kafka://"

func brokerFlaw(kind, value string) string {
	if kind == "kafka" {
		if len(value) > len(kafkaScheme) && strings.EqualFold(value[:len(kafkaScheme)], kafkaScheme) {
			return ""
		}
		if brokerFlaw("eventhubs", value) != "" {
			return "is neither a kafka:// URL nor a connection string of Event Hubs"
		}
		return ""
	}
	switch kind {
	case "rabbitmq":
		u, err := url.Parse(value)
		if err != nil || (u.Scheme != "amqp" && u.Scheme != "amqps") || u.Hostname() == "" {
			return "is not an amqp or amqps URL"
		}
	case "eventhubs", "servicebus":
		fields := map[string]bool{}
		for field := range strings.SplitSeq(value, ";") {
			k, v, _ := strings.Cut(field, "=")
			fields[strings.ToLower(strings.TrimSpace(k))] = v != ""
		}
		withKey := fields["sharedaccesskeyname"] && fields["sharedaccesskey"]
		if !fields["endpoint"] || !withKey && !fields["sharedaccesssignature"] {
			return "is not a connection string of the namespace"
		}
	}
	return ""
}

var namespaceForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$`)

// brokerIdentity reads name__…; ok is false when there is nothing of it.
func (e environ) brokerIdentity(s *scope, key, name string) (b Broker, ok bool) {
	parts := e.parts(s, key, name, "fullyQualifiedNamespace", "credential", "clientId", "managedIdentityResourceId",
		"tenantId", "clientSecret")
	if len(parts) == 0 {
		return Broker{}, false
	}
	if problem, mend := namespaceFlaw(name, parts); problem != "" {
		if s.ok(key) {
			s.fault(key, nameOf(s, key, name)+", of which "+problem, mend)
		}
		return Broker{Setting: name}, true
	}
	return Broker{Setting: name, Namespace: parts["fullyQualifiedNamespace"], Identity: e.identity(s, key, name, parts)},
		true
}

func namespaceFlaw(name string, parts map[string]string) (problem, mend string) {
	at := name + "__fullyQualifiedNamespace"
	switch {
	case parts["fullyQualifiedNamespace"] == "":
		return at + " is not set", "Set it, such as " + at + "=<namespace>.servicebus.windows.net"
	case !namespaceForm.MatchString(parts["fullyQualifiedNamespace"]):
		return at + " is not the name of a host", "Write <namespace>.servicebus.windows.net, without sb:// and without a key"
	}
	return whoFlaw(name, parts)
}
