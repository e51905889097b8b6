// Package azure reaches storage accounts as the settings name them: by a connection string, or with an identity, by the
// conventions of the Functions host.
//
//	client   clients of containers and queues, and credentials; none connects before it is used
//	account  what a setting says of its account: its endpoints, its name, what its signature is for
//	storage  what an account answers: how long it keeps overwritten blobs, whether documents have versions
//
// Errors name the setting. They never hold a connection string, or the URL of a request, which may hold a signature.
package azure

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
)

var (
	// ErrDenied is in the error of a question that the login may not ask: what was asked for may well be there.
	ErrDenied = errors.New("denied")
	// ErrNoContainer is in the error of a question about a container that is not there.
	ErrNoContainer = errors.New("there is no such container")
	// ErrNoQueue is in the error of a question about a queue that is not there.
	ErrNoQueue = errors.New("there is no such queue")
)

// BlobEndpoint is the address of an account's blobs, "" where the setting does not tell.
func BlobEndpoint(s *config.Storage) string { return endpoint(s, "blob", s.BlobServiceURI) }

// QueueEndpoint is the address of an account's queues, "" where the setting does not tell.
func QueueEndpoint(s *config.Storage) string { return endpoint(s, "queue", s.QueueServiceURI) }

// TableEndpoint is the address of an account's tables, "" where the setting does not tell.
func TableEndpoint(s *config.Storage) string { return endpoint(s, "table", s.TableServiceURI) }

// endpoint is the address that a setting gives a service: of a connection string, as the SDK reads it.
func endpoint(s *config.Storage, service, uri string) string {
	if s.ConnectionString == "" {
		return uri
	}
	members := membersOf(s.ConnectionString)
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

// membersOf are the parts of a storage connection string, by their names in lower case.
func membersOf(text config.Secret) map[string]string {
	members := map[string]string{}
	for part := range strings.SplitSeq(text.Reveal(), ";") {
		name, value, _ := strings.Cut(part, "=")
		members[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return members
}

// Account names a storage account; "" where its setting does not tell.
func Account(s *config.Storage) string {
	if s.ConnectionString != "" {
		if members := membersOf(s.ConnectionString); members["accountkey"] != "" {
			return strings.ToLower(members["accountname"]) // whose key it is; an endpoint may have a name of its own
		}
	}
	return accountAt(cmp.Or(s.TableServiceURI, BlobEndpoint(s)))
}

// accountAt reads the account from the address of its blobs: the first name of the host, such as
// shop.blob.core.windows.net or shop.z01.blob.storage.azure.net, and for an emulator the path. A name of the operator's
// own says nothing.
func accountAt(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		name, _, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
		return strings.ToLower(name)
	}
	labels := strings.Split(host, ".")
	if !slices.Contains(labels[1:], "blob") && !slices.Contains(labels[1:], "table") && !slices.Contains(labels[1:],
		"dfs") {
		return ""
	}
	return strings.TrimSuffix(labels[0], "-secondary")
}

// OfOneContainer reports whether a connection string has a signature that is for one container, and can do nothing in
// others.
func OfOneContainer(s *config.Storage) bool {
	values, err := url.ParseQuery(strings.TrimPrefix(membersOf(s.ConnectionString)["sharedaccesssignature"], "?"))
	return err == nil && values.Get("sr") == "c"
}

// HostStorage is the app setting of the Functions host's own storage.
const HostStorage = "AzureWebJobsStorage"

// HostAccount is what the app settings of the host's own storage account say.
type HostAccount struct {
	Name string // "" where the settings do not tell
	Set  bool   // there are such settings
	Key  bool   // they hold a key, or a signature
}

// HostAccountOf reads the app settings of the host's own storage.
func HostAccountOf(env func(string) string) HostAccount {
	text := config.Secret(env(HostStorage))
	members := membersOf(text)
	host := HostAccount{Key: members["accountkey"] != "" || members["sharedaccesssignature"] != ""}
	switch {
	case strings.EqualFold(members["usedevelopmentstorage"], "true"):
		host.Name, host.Set = "devstoreaccount1", true
	case text != "":
		host.Name, host.Set = Account(&config.Storage{ConnectionString: text}), true
	case env(HostStorage+"__accountName") != "":
		host.Name, host.Set = strings.ToLower(env(HostStorage+"__accountName")), true
	default:
		uri := env(HostStorage + "__blobServiceUri")
		host.Name, host.Set = accountAt(uri), uri != ""
	}
	return host
}
