package config

import (
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config/kind"
)

// portalForms are the prefixes under which the portal's "connection strings" arrive in the environment.
var portalForms = []string{"", "SQLAZURECONNSTR_", "SQLCONNSTR_", "CUSTOMCONNSTR_", "POSTGRESQLCONNSTR_",
	"MYSQLCONNSTR_"}

// database resolves the connection of a source: the setting of exactly that name, the portal's forms of it, or the
// identity form for SQL Server. A value wins over the identity form.
func (e environ) database(s *scope, key, name string) Database {
	for _, form := range portalForms {
		if found, value, flaw, ok := e.find(form + name); ok {
			if !e.resolved(s, key, found, value, flaw) {
				return Database{Setting: found}
			}
			return Database{Setting: found, ConnectionString: Secret(value)}
		}
	}
	d := Database{Setting: name}
	parts := e.parts(s, key, name, "server", "database", "credential", "clientId")
	d.Server, d.Database, d.Credential, d.ClientID = parts["server"], parts["database"], parts["credential"],
		parts["clientId"]
	if len(parts) == 0 {
		mend := "Set " + name + " to a connection string, or " + name + "__server and " + name +
			"__database for SQL Server with an identity"
		s.fault(key, nameOf(s, key, name)+", which is not set", e.withNear(name, mend))
		return d
	}
	for _, part := range []string{"server", "database"} {
		if parts[part] == "" && s.ok(key) {
			s.fault(key, nameOf(s, key, name)+", of which "+name+"__"+part+" is not set", "Set "+name+"__"+part)
		}
	}
	d.Credential = e.credential(s, key, name, d.Credential)
	return d
}

// nameOf begins a fault: where the default is at work, nobody wrote the name.
func nameOf(s *scope, key, name string) string {
	if s.has(key) {
		return "names " + name
	}
	return "is by default " + name
}

// withNear puts the variable that was probably meant before the mend.
func (e environ) withNear(name, mend string) string {
	if near := e.near(name); near != "" {
		return "Did you mean " + near + ", which is set? Otherwise: " + strings.ToLower(mend[:1]) + mend[1:]
	}
	return mend
}

// resolved reports whether a value is there: more than a Key Vault reference that the platform failed to resolve, and
// not in a file with a flaw.
func (e environ) resolved(s *scope, key, found, value string, flaw *kind.Flaw) bool {
	if flaw == nil && !isKeyVaultReference(value) {
		return true
	}
	s.bad[key] = true
	if flaw != nil {
		s.faults.Add(found, flaw.Problem+" ("+s.named(key)+" needs it)", flaw.Mend)
		return false
	}
	s.faults.Add(found, "is a Key Vault reference that was not resolved ("+s.named(key)+" needs it)", keyVaultMend)
	return false
}

// parts returns those of name__part that are set, by part.
func (e environ) parts(s *scope, key, name string, parts ...string) map[string]string {
	set := map[string]string{}
	for _, part := range parts {
		found, value, flaw, ok := e.find(name + "__" + part)
		if ok && e.resolved(s, key, found, value, flaw) {
			set[part] = value
		} else if ok {
			set[part] = ""
		}
	}
	return set
}

// credential accepts managedidentity; without one the SDK's default chain decides.
func (e environ) credential(s *scope, key, name, value string) string {
	const managed = "managedidentity"
	switch {
	case value == "":
		return ""
	case strings.EqualFold(value, managed):
		return managed
	}
	if s.ok(key) {
		s.fault(key, nameOf(s, key, name)+", of which "+name+"__credential is not "+managed,
			"Write "+name+"__credential="+managed+", or remove it for the default chain of credentials")
	}
	return ""
}

// service is the part of a storage account that a connection is for.
type service struct{ name, uri string }

var (
	blobService  = service{"blob", "blobServiceUri"}
	queueService = service{"queue", "queueServiceUri"}
	tableService = service{"table", "tableServiceUri"}
)

const hostStorage = "AzureWebJobsStorage"

// storage resolves a storage connection as the Functions host does: AzureWebJobs<name> first, then <name>; for each a
// value is a connection string, which wins, and otherwise <name>__… is the identity form.
func (e environ) storage(s *scope, key, name string, want service) Storage {
	for _, candidate := range []string{"AzureWebJobs" + name, name} {
		for _, form := range []string{"", "CUSTOMCONNSTR_"} {
			if found, value, flaw, ok := e.find(form + candidate); ok {
				if !e.resolved(s, key, found, value, flaw) {
					return Storage{Setting: found}
				}
				return storageString(s, key, found, value)
			}
		}
		if st, ok := e.storageIdentity(s, key, candidate, want); ok {
			return st
		}
	}
	mend := "Set " + name + " to a storage connection string, or " + name + "__" + want.uri +
		" for an identity; for Azurite write UseDevelopmentStorage=true"
	s.fault(key, nameOf(s, key, name)+", which is not set", e.withNear(name, mend))
	return Storage{Setting: name}
}

// storageString takes a connection string. Azurite's short form is written out.
func storageString(s *scope, key, found, value string) Storage {
	st := Storage{Setting: found}
	fields := map[string]string{}
	for field := range strings.SplitSeq(value, ";") {
		k, v, _ := strings.Cut(field, "=")
		fields[strings.ToLower(strings.TrimSpace(k))] = strings.TrimSpace(v)
	}
	if strings.EqualFold(fields["usedevelopmentstorage"], "true") {
		st.ConnectionString, st.Development = developmentStorage(fields["developmentstorageproxyuri"]), true
		return st
	}
	if (fields["accountname"] == "" || fields["accountkey"] == "") && fields["sharedaccesssignature"] == "" {
		s.bad[key] = true
		s.faults.Add(found, "is not a storage connection string ("+s.named(key)+" needs one)",
			"Copy it from the storage account's access keys (DefaultEndpointsProtocol=https;AccountName=…), or use "+found+
				"__blobServiceUri and the like for an identity")
		return st
	}
	st.ConnectionString, st.Development = Secret(value), fields["accountname"] == azuriteAccount
	return st
}

// Azurite's account and key are the same everywhere, and documented: they protect nothing.
const (
	azuriteAccount = "devstoreaccount1"
	azuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// developmentStorage is what UseDevelopmentStorage=true stands for; proxy replaces the host, as in compose networks.
func developmentStorage(proxy string) Secret {
	if proxy == "" {
		proxy = "http://127.0.0.1"
	}
	base := strings.TrimRight(proxy, "/") + ":"
	return Secret("DefaultEndpointsProtocol=http;AccountName=" + azuriteAccount + ";AccountKey=" + azuriteKey +
		";BlobEndpoint=" + base + "10000/" + azuriteAccount +
		";QueueEndpoint=" + base + "10001/" + azuriteAccount +
		";TableEndpoint=" + base + "10002/" + azuriteAccount + ";")
}

// storageIdentity reads name__…; ok is false when there is nothing of it.
func (e environ) storageIdentity(s *scope, key, name string, want service) (st Storage, ok bool) {
	parts := e.parts(s, key, name, "blobServiceUri", "queueServiceUri", "tableServiceUri", "serviceUri",
		"accountName", "credential", "clientId", "managedIdentityResourceId", "tenantId", "clientSecret")
	if len(parts) == 0 {
		return Storage{}, false
	}
	st = Storage{Setting: name}
	uri := parts[want.uri]
	if uri == "" {
		uri = parts["serviceUri"]
	}
	if account := parts["accountName"]; uri == "" && account != "" && strings.EqualFold(name, hostStorage) &&
		azureAccount(account) {
		uri = "https://" + account + "." + want.name + ".core.windows.net"
	}
	switch want {
	case blobService:
		st.BlobServiceURI = uri
	case tableService:
		st.TableServiceURI = uri
	default:
		st.QueueServiceURI = uri
	}
	if problem, mend := identityFlaw(name, want, uri, parts); problem != "" {
		if s.ok(key) {
			s.fault(key, nameOf(s, key, name)+", of which "+problem, mend)
		}
		return Storage{Setting: name}, true // a URI that is refused may carry a SAS: it goes no further
	}
	st.Identity = e.identity(s, key, name, parts)
	return st, true
}

// identity is who asks, by the parts of an identity form that are the same for every service.
func (e environ) identity(s *scope, key, name string, parts map[string]string) Identity {
	return Identity{
		Credential: e.credential(s, key, name, parts["credential"]), ClientID: parts["clientId"],
		ResourceID: parts["managedIdentityResourceId"], TenantID: parts["tenantId"],
		ClientSecret: Secret(parts["clientSecret"]),
	}
}

func azureAccount(s string) bool {
	return len(s) >= 3 && len(s) <= 24 && azureName.MatchString(s) && !strings.Contains(s, "-")
}

// identityFlaw says what is wrong with an identity form. It names settings, never their values.
func identityFlaw(name string, want service, uri string, parts map[string]string) (problem, mend string) {
	at := name + "__" + want.uri
	_, isAccount := parts["accountName"]
	switch {
	case uri == "" && isAccount && !strings.EqualFold(name, hostStorage):
		return name + "__accountName is only for " + hostStorage,
			"Set " + at + ", such as https://<account>." + want.name + ".core.windows.net"
	case uri == "" && isAccount:
		return name + "__accountName is no name of a storage account", "Write 3 to 24 lower-case letters and digits"
	case uri == "":
		return at + " is not set", "Set it, such as " + at + "=https://<account>." + want.name + ".core.windows.net"
	case !serviceURI(uri):
		return at + " is not an https URL without a query",
			"Write https://<account>." + want.name + ".core.windows.net; a SAS belongs in a connection string"
	}
	return whoFlaw(name, parts)
}

// whoFlaw says what is wrong with what an identity form says of the one who asks.
func whoFlaw(name string, parts map[string]string) (problem, mend string) {
	switch {
	case parts["clientId"] != "" && parts["managedIdentityResourceId"] != "":
		return name + "__clientId and " + name + "__managedIdentityResourceId are both set", "Remove one of the two"
	case parts["clientSecret"] != "" && (parts["clientId"] == "" || parts["tenantId"] == ""):
		return name + "__clientSecret stands without " + name + "__tenantId and " + name + "__clientId",
			"Set all three, or use credential=managedidentity"
	case parts["clientSecret"] == "" && parts["tenantId"] != "":
		return name + "__tenantId stands without " + name + "__clientSecret",
			"Set " + name + "__clientId and " + name + "__clientSecret too, or remove it"
	}
	return "", ""
}

// loopbackHTTP are the forms in which plain http is right: Azurite on this machine.
var loopbackHTTP = []string{"http://127.0.0.1:", "http://localhost:", "http://[::1]:"}

func serviceURI(s string) bool {
	if strings.ContainsAny(s, "?#@ ") {
		return false
	}
	rest, https := strings.CutPrefix(s, "https://")
	return https && rest != "" && rest[0] != '/' ||
		slices.ContainsFunc(loopbackHTTP, func(p string) bool { return strings.HasPrefix(s, p) })
}
