package azmessaging

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Connection says which namespace to send to, and as whom: a connection string, or a name and an identity. The zero
// value is none. It prints as the name of the namespace only.
type Connection struct {
	// Namespace is host, or host:port of an emulator: shop.servicebus.windows.net.
	Namespace string
	// EntityPath is the one queue, topic or hub that a connection string is for; "" for the whole namespace.
	EntityPath string
	// Emulator says that the connection is without TLS (UseDevelopmentEmulator=true).
	Emulator bool
	// Text is a connection string without EntityPath, "" with an identity. It holds a secret.
	Text string
	// Credential is the identity; nil with a connection string.
	Credential azcore.TokenCredential
}

// String returns the name of the namespace.
func (c Connection) String() string { return c.Namespace }

// GoString returns the name of the namespace.
func (c Connection) GoString() string { return strconv.Quote(c.Namespace) }

// ParseConnection reads a connection string as the portal shows it: members Name=value between semicolons, names in any
// case, in any order. Errors repeat nothing of it but the names of members.
//
//	Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=…;SharedAccessKey=…[;EntityPath=…][;UseDevelopmentEmulator=true]
//	Endpoint=sb://shop.servicebus.windows.net/;SharedAccessSignature=SharedAccessSignature sr=…&sig=…&se=…&skn=…
func ParseConnection(text string) (Connection, error) {
	members, err := parseMembers(text)
	if err != nil {
		return Connection{}, err
	}
	c := Connection{EntityPath: members["EntityPath"]}
	if c.Namespace, err = parseEndpoint(members["Endpoint"]); err != nil {
		return Connection{}, err
	}
	if flag, ok := members["UseDevelopmentEmulator"]; ok {
		if c.Emulator, err = strconv.ParseBool(flag); err != nil {
			return Connection{}, errors.New("the connection string's UseDevelopmentEmulator is neither true nor false")
		}
	}
	signature, key := members["SharedAccessSignature"] != "", members["SharedAccessKey"] != ""
	switch {
	case signature && key:
		return Connection{}, errors.New("the connection string has both SharedAccessKey and SharedAccessSignature: leave one out")
	case !signature && !key:
		return Connection{}, errors.New("the connection string has no SharedAccessKey and no SharedAccessSignature: copy it from the namespace's shared access policies, or name the namespace alone to use an identity")
	case key && members["SharedAccessKeyName"] == "":
		return Connection{}, errors.New("the connection string has no SharedAccessKeyName: copy it from the namespace's shared access policies")
	}
	c.Text = c.join(members)
	return c, nil
}

// join writes the connection string anew, without EntityPath: the SDK of Event Hubs wants the hub in one place only.
func (c *Connection) join(members map[string]string) string {
	var b strings.Builder
	b.WriteString("Endpoint=sb://" + c.Namespace)
	for _, name := range memberNames[1:] {
		if value, ok := members[name]; ok && name != "EntityPath" && name != "UseDevelopmentEmulator" {
			b.WriteString(";" + name + "=" + value)
		}
	}
	if c.Emulator {
		b.WriteString(";UseDevelopmentEmulator=true")
	}
	return b.String()
}

var memberNames = []string{"Endpoint", "SharedAccessKeyName", "SharedAccessKey", "SharedAccessSignature", "EntityPath",
	"UseDevelopmentEmulator"}

func parseMembers(text string) (map[string]string, error) {
	members := make(map[string]string, len(memberNames))
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok { // what it is cannot be told: it may be the rest of a key
			return nil, errors.New("the connection string has a member without =: it looks like Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…")
		}
		known := canonical(name)
		if known == "" {
			continue // TransportType and others, which clients of other languages read
		}
		if _, again := members[known]; again {
			return nil, fmt.Errorf("the connection string has %s twice", known)
		}
		members[known] = strings.TrimSpace(value)
	}
	return members, nil
}

func canonical(name string) string {
	for _, known := range memberNames {
		if strings.EqualFold(strings.TrimSpace(name), known) {
			return known
		}
	}
	return ""
}

// hostName is what a namespace's or an emulator's host is made of.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func parseEndpoint(endpoint string) (string, error) {
	const form = "the connection string's Endpoint is not of the form sb://namespace.servicebus.windows.net"
	u, err := url.Parse(endpoint)
	if err != nil || !strings.EqualFold(u.Scheme, "sb") || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New(form) // without the value: a key may have slipped into it
	}
	if !legalHost(u) {
		return "", errors.New(form)
	}
	return u.Host, nil
}

func legalHost(u *url.URL) bool {
	if !hostName.MatchString(u.Hostname()) {
		return false
	}
	if u.Port() == "" {
		return !strings.Contains(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

// WithIdentity is a connection to a namespace (shop.servicebus.windows.net, or the same as sb://…) as an identity.
func WithIdentity(namespace string, credential azcore.TokenCredential) (Connection, error) {
	if credential == nil {
		return Connection{}, errors.New("a connection without a connection string needs an identity")
	}
	host, err := parseEndpoint("sb://" + strings.TrimPrefix(namespace, "sb://"))
	if err != nil {
		return Connection{}, errors.New("the namespace is not of the form namespace.servicebus.windows.net")
	}
	return Connection{Namespace: host, Credential: credential}, nil
}
