package main

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/production"
)

const hostStorage = "AzureWebJobsStorage"

// accountOf names a storage account; "" where its setting does not tell.
func accountOf(s *config.Storage) string {
	if s.ConnectionString == "" {
		return accountAt(s.BlobServiceURI)
	}
	text := s.ConnectionString.Reveal()
	if members := storageMembers(text); members["accountkey"] != "" {
		return strings.ToLower(members["accountname"]) // whose key it is; an endpoint may have a name of its own
	}
	return accountAt(storageEndpoint(text, "blob"))
}

// accountAt reads the account from the address of its blobs: the first name of the host, such as shop.blob.core.windows.net or
// shop.z01.blob.storage.azure.net, and for an emulator the path. A name of the operator's own says nothing.
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
	if !slices.Contains(labels[1:], "blob") && !slices.Contains(labels[1:], "dfs") {
		return ""
	}
	return strings.TrimSuffix(labels[0], "-secondary")
}

// hostAccount is what the settings of the host's own storage say.
func hostAccount(env func(string) string) production.HostAccount {
	text := env(hostStorage)
	members := storageMembers(text)
	host := production.HostAccount{Key: members["accountkey"] != "" || members["sharedaccesssignature"] != ""}
	switch {
	case strings.EqualFold(members["usedevelopmentstorage"], "true"):
		host.Name, host.Set = "devstoreaccount1", true
	case text != "":
		host.Name, host.Set = accountOf(&config.Storage{ConnectionString: config.Secret(text)}), true
	case env(hostStorage+"__accountName") != "":
		host.Name, host.Set = strings.ToLower(env(hostStorage+"__accountName")), true
	default:
		endpoint := env(hostStorage + "__blobServiceUri")
		host.Name, host.Set = accountAt(endpoint), endpoint != ""
	}
	return host
}

// ofOneContainer reports whether a connection string has a signature that is for one container, and can do nothing in others.
func ofOneContainer(s *config.Storage) bool {
	values, err := url.ParseQuery(strings.TrimPrefix(storageMembers(s.ConnectionString.Reveal())["sharedaccesssignature"], "?"))
	return err == nil && values.Get("sr") == "c"
}
