package target

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/azuread"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/loopback"
)

// setAuthentication reads ADO.NET's Authentication and go-mssqldb's fedauth, and writes the latter's own spelling:
// azuread compares it letter for letter once it asks for a token.
func setAuthentication(t *Target, value string) error {
	switch strings.ToLower(strings.ReplaceAll(value, " ", "")) {
	case "sqlpassword", "":
		t.fedauth = ""
	case "activedirectorymanagedidentity", "activedirectorymsi":
		t.fedauth = azuread.ActiveDirectoryManagedIdentity
	case "activedirectorydefault":
		t.fedauth = azuread.ActiveDirectoryDefault
	case "activedirectoryserviceprincipal", "activedirectoryapplication":
		t.fedauth = azuread.ActiveDirectoryServicePrincipal
	case "activedirectorypassword":
		t.fedauth = azuread.ActiveDirectoryPassword
	case "activedirectoryworkloadidentity":
		t.fedauth = azuread.ActiveDirectoryWorkloadIdentity
	case "activedirectoryenvironment":
		t.fedauth = azuread.ActiveDirectoryEnvironment
	case "activedirectoryazcli":
		t.fedauth = azuread.ActiveDirectoryAzCli
	case "activedirectoryintegrated":
		return errors.New("asks for Windows authentication, which is not available here: use Active Directory Managed Identity, " +
			"or Active Directory Default")
	case "activedirectoryinteractive", "activedirectorydevicecode", "activedirectorydevicecodeflow":
		return errors.New("asks for a person at a browser: use Active Directory Managed Identity, or Active Directory Default")
	default:
		return errors.New("must be Sql Password, or Active Directory Managed Identity, Default, Service Principal, " +
			"Workload Identity, Environment, AzCli or Password")
	}
	return nil
}

// Connector is the driver's, for the target.
func (t *Target) Connector() (*mssql.Connector, error) {
	u, err := t.driverURL()
	if err != nil {
		return nil, err
	}
	// The driver's own messages may quote values. Everything that is the user's was checked; what is left are certificate
	// files, whose fault is the system's message.
	connector, err := azuread.NewConnector(u)
	if err != nil {
		var path interface{ Timeout() bool }
		if errors.As(err, &path) && !strings.Contains(err.Error(), t.password) {
			return nil, fmt.Errorf("the certificate file: %w", err)
		}
		return nil, errors.New("the driver refuses it: check Encrypt, the certificate settings (files end in .pem or .der) and the authentication's parameters")
	}
	return connector, nil
}

// HasPassword reports whether the target holds a secret.
func (t *Target) HasPassword() bool { return t.password != "" }

// Identity names the database, without who asks and how: host[:port][\instance]/database.
func (t *Target) Identity() string {
	identity := dsn.Host(t.host)
	if t.port != "" && t.port != "1433" {
		identity += ":" + t.port
	}
	if t.instance != "" {
		identity += `\` + strings.ToLower(t.instance)
	}
	return identity + "/" + t.database
}

// Link says what protects the way to the server; Warnings hold what is to be said of it.
func (t *Target) Link() engine.Link {
	trusted, _ := dsn.Yes(t.trust)
	switch {
	case loopback.Is(t.host):
		return engine.LinkLocal
	case t.encrypt == "disable" || t.encrypt == "false":
		return engine.LinkPlain
	case trusted && t.encrypt != "strict":
		return engine.LinkUnverified
	}
	return engine.LinkVerified
}

// Warnings are what a user should know of the string.
func (t *Target) Warnings() []string {
	switch t.Link() {
	case engine.LinkPlain:
		return append(t.warnings, dsn.Unencrypted("Encrypt", "set Encrypt=True"))
	case engine.LinkUnverified:
		return append(t.warnings, dsn.Unverified("TrustServerCertificate",
			"remove it, or give the server's certificate by ServerCertificate or HostNameInCertificate"))
	}
	return t.warnings
}

func (t *Target) check() error {
	if t.host == "" {
		return errors.New("it names no server")
	}
	if t.database == "" {
		return errors.New("it names no database: add Database=… (in a URL ?database=…); the login's default database is not used")
	}
	if t.port != "" {
		if n, err := strconv.ParseUint(t.port, 10, 16); err != nil || n == 0 {
			return errors.New("the port must be a number from 1 to 65535")
		}
		t.port = strings.TrimLeft(t.port, "0")
	}
	switch t.encrypt {
	case "", "true", "yes", "mandatory", "1", "t":
		t.encrypt = "true"
	case "strict", "disable":
	case "false", "no", "optional", "0", "f":
		t.encrypt = "false"
	default:
		return errors.New("the keyword \"encrypt\" must be True, False or Strict")
	}
	if _, ok := dsn.Yes(t.trust); t.trust != "" && !ok {
		return errors.New("the keyword \"trustservercertificate\" must be True or False")
	}
	if err := t.checkTLS(); err != nil {
		return err
	}
	return t.checkLogin()
}

func (t *Target) checkTLS() error {
	if t.options["servercertificate"] != "" &&
		(t.options["certificate"] != "" || t.options["hostnameincertificate"] != "") {
		return errors.New("ServerCertificate stands for itself: remove Certificate and HostNameInCertificate")
	}
	for _, key := range []string{"disableinstancediscovery", "sendcertificatechain"} {
		if v, ok := t.options[key]; ok {
			if _, ok := dsn.Yes(v); !ok {
				return fmt.Errorf("the keyword %q must be true or false", key)
			}
		}
	}
	return nil
}

// checkLogin names what a login lacks before the server or Entra ID would say so less clearly.
func (t *Target) checkLogin() error {
	switch t.fedauth {
	case "":
		if t.user == "" || t.password == "" {
			return errors.New("it names no login: give User ID and Password, or Authentication=Active Directory Managed Identity")
		}
	case azuread.ActiveDirectoryManagedIdentity:
		if t.password != "" {
			return errors.New("a managed identity has no password: remove Password; User ID is the client id of a user-assigned identity")
		}
	case azuread.ActiveDirectoryServicePrincipal:
		if t.user == "" || t.password == "" && t.options["clientcertpath"] == "" {
			return errors.New("a service principal needs User ID (its application id, with @tenant where it is another's) and " +
				"Password (its client secret) or clientcertpath")
		}
	case azuread.ActiveDirectoryPassword:
		if t.options["applicationclientid"] == "" {
			return errors.New("the authentication Active Directory Password needs applicationclientid (an application registration that allows public " +
				"client flows), and does not work with multi-factor authentication: use Active Directory Managed Identity or Service Principal")
		}
		if t.user == "" || t.password == "" {
			return errors.New("the authentication Active Directory Password needs User ID and Password")
		}
	}
	return nil
}

// driverURL writes the target as the URL that go-mssqldb and its azuread package read.
func (t *Target) driverURL() (string, error) {
	q := url.Values{}
	for name, value := range t.options {
		q.Set(name, value)
	}
	q.Set("database", t.database)
	q.Set("encrypt", t.encrypt)
	trusted, _ := dsn.Yes(t.trust)
	q.Set("trustservercertificate", strconv.FormatBool(trusted))
	q.Set("protocol", "tcp")
	if q.Get("app name") == "" {
		q.Set("app name", "rowrelay")
	}
	if t.fedauth != "" {
		q.Set("fedauth", t.fedauth)
	}
	u := url.URL{Scheme: "sqlserver", Host: t.host, RawQuery: q.Encode()}
	switch {
	case t.port != "":
		u.Host = net.JoinHostPort(t.host, t.port)
	case strings.Contains(t.host, ":"):
		// The driver reads a bare IPv6 address with its brackets as a name; with a port it takes them off.
		if t.instance != "" {
			return "", errors.New("an instance on an IPv6 address needs its port")
		}
		u.Host = net.JoinHostPort(t.host, "1433")
	}
	if t.instance != "" {
		u.Path = "/" + t.instance
	}
	if t.user != "" || t.password != "" {
		u.User = url.UserPassword(t.user, t.password)
	}
	return u.String(), nil
}
