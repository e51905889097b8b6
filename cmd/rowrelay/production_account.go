package main

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
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

// hostAccount is the account of AzureWebJobsStorage; "" where its settings do not tell, and set says whether there are any.
func (f *facts) hostAccount() (account string, set bool) {
	if text := f.env(hostStorage); text != "" {
		if strings.EqualFold(storageMembers(text)["usedevelopmentstorage"], "true") {
			return "devstoreaccount1", true
		}
		return accountOf(&config.Storage{ConnectionString: config.Secret(text)}), true
	}
	if account := f.env(hostStorage + "__accountName"); account != "" {
		return strings.ToLower(account), true
	}
	endpoint := f.env(hostStorage + "__blobServiceUri")
	return accountAt(endpoint), endpoint != ""
}

// hostKey reports whether the host's own setting holds a key of an account, or a signature.
func (f *facts) hostKey() bool {
	members := storageMembers(f.env(hostStorage))
	return f.hosted && (members["accountkey"] != "" || members["sharedaccesssignature"] != "")
}

// ofOneContainer reports whether a connection string has a signature that is for one container, and can do nothing in others.
func ofOneContainer(s *config.Storage) bool {
	values, err := url.ParseQuery(strings.TrimPrefix(storageMembers(s.ConnectionString.Reveal())["sharedaccesssignature"], "?"))
	return err == nil && values.Get("sr") == "c"
}

func judgeAccount(f *facts) answer {
	s := &f.app.cfg.State
	if s.Kind != "blob" {
		return none("the state is in no storage account")
	}
	if strings.HasPrefix(s.Container, "azure-webjobs-") {
		return bad("set state__container to a container of its own", "the container %s is the host's", s.Container)
	}
	const look = "compare the two settings: the state should have another account, or an identity with a role on its container only"
	own := accountOf(&s.Connection)
	host, set := f.hostAccount()
	switch {
	case !set && !f.hosted:
		return none("no host.json, and no %s: no host has an account", hostStorage)
	case host == "":
		return unknown(look, "which account %s is does not stand in it", hostStorage)
	case own == "":
		return unknown(look, "which account %s is does not stand in it", s.Connection.Setting)
	case own != host:
		return good("the account %s is not that of %s", own, hostStorage)
	case s.Connection.ConnectionString == "":
		return unknown("see that the identity's role is on the container only, not on the account", "the host's account, with an identity: where its role is on is not seen")
	case ofOneContainer(&s.Connection):
		return good("the host's account, with a signature for one container")
	}
	return bad("", "it is the account of %s, and %s reaches it with a key or a signature for the whole account", hostStorage, s.Connection.Setting)
}

func judgeCopies(f *facts) answer {
	c := &f.copies
	const look = "look at the account's data protection: no soft delete for blobs, no versions; soft delete for containers is welcome"
	switch {
	case f.app.cfg.State.Kind != "blob" || f.app.store == nil:
		return none("the state is in no storage account")
	case c.days > 0:
		return bad("", "soft delete for blobs is on: every old state is kept for %d day(s)", c.days)
	case c.versions:
		return bad("turn versions off in this account, or keep the state in an account of its own", "blobs have versions: every old state is kept")
	case c.err != nil:
		return unknown(look, "the account's settings are not shown to this login (%v)", c.err)
	case c.versionErr != nil:
		return unknown(look, "soft delete for blobs is off; whether there are versions is not known: the documents cannot be listed (%v)", c.versionErr)
	case c.documents == 0:
		return unknown(look, "soft delete for blobs is off; whether there are versions is not seen as long as there is no document")
	}
	return good("soft delete for blobs is off, and no document has a version")
}
