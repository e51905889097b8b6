package sqlserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/microsoft/go-mssqldb/azuread"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"

	"github.com/rowrelay/rowrelay/engine/dsn"
)

// target is what both forms of a SQL Server connection string say, in go-mssqldb's words.
type target struct {
	host, port, instance string
	database             string
	user, password       string
	fedauth              string
	// encrypt and trust as written; empty where the string does not say.
	encrypt, trust string
	// options are further parameters of the driver's URL.
	options  map[string]string
	warnings []string
}

// Parse reads either form.
func Parse(text string) (engine.Connection, error) {
	if strings.HasPrefix(strings.ToLower(text), "sqlserver://") {
		return parseURL(text)
	}
	return parseADO(text)
}

// parseADO reads the ADO.NET form.
func parseADO(text string) (engine.Connection, error) {
	t, err := adoTarget(text)
	if err != nil {
		return engine.Connection{}, err
	}
	return t.connection()
}

func adoTarget(text string) (*target, error) {
	pairs, err := splitADO(text)
	if err != nil {
		return nil, err
	}
	t := &target{options: map[string]string{}}
	known := keywords()
	seen := map[string]bool{}
	secretBefore := false
	for i, p := range pairs {
		word, ok := known[p.key]
		if !ok && (secretBefore || !dsn.Nameable(p.key)) {
			return nil, fmt.Errorf("entry %d does not begin with a keyword that is known: a password that holds a "+
				"semicolon must be quoted (Password=\"…\")", i+1)
		}
		if !ok {
			return nil, fmt.Errorf("the keyword %q is not known: it is misspelt, or must be removed", p.key)
		}
		if seen[p.key] {
			return nil, fmt.Errorf("the keyword %q stands twice: remove one", p.key)
		}
		seen[p.key] = true
		if err := t.apply(word, p.key, p.value); err != nil {
			return nil, err
		}
		// From a password on, a piece that is no keyword may be the password's own.
		secretBefore = secretBefore || p.key == "password" || p.key == "pwd"
	}
	for _, group := range [][]string{
		{"server", "datasource", "address", "addr", "networkaddress"}, {"database", "initialcatalog"},
		{"userid", "uid", "user"}, {"password", "pwd"}, {"authentication", "fedauth"},
	} {
		var found []string
		for _, key := range group {
			if seen[key] {
				found = append(found, key)
			}
		}
		if len(found) > 1 {
			return nil, fmt.Errorf("the keywords %q mean the same: remove all but one", found)
		}
	}
	return t, nil
}

// parseURL reads sqlserver://user:password@host[:port][/instance]?database=…&….
func parseURL(text string) (engine.Connection, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return engine.Connection{}, dsn.ErrURL
	}
	if u.User == nil && dsn.StrayUserinfo(text) {
		return engine.Connection{}, dsn.ErrURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return engine.Connection{}, dsn.ErrURL
	}
	t := target{host: u.Hostname(), port: u.Port(), options: map[string]string{}}
	if u.User != nil {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	if t.instance = strings.Trim(u.Path, "/"); strings.Contains(t.instance, "/") {
		return engine.Connection{}, errors.New("the path of a sqlserver:// URL names an instance, one word: write the database as ?database=…")
	}
	known := keywords()
	seen := map[string]bool{}
	for name, values := range query {
		key := strings.ToLower(strings.ReplaceAll(name, " ", ""))
		if key == "server" || key == "datasource" || key == "port" {
			return engine.Connection{}, fmt.Errorf("the parameter %q has no place in a URL: the server stands after sqlserver://", key)
		}
		word, ok := known[key]
		if !ok && !dsn.Nameable(key) {
			return engine.Connection{}, dsn.ErrURL
		}
		if !ok {
			return engine.Connection{}, fmt.Errorf("the parameter %q is not known: it is misspelt, or must be removed", key)
		}
		if len(values) > 1 || seen[key] {
			return engine.Connection{}, fmt.Errorf("the parameter %q stands twice: remove one", key)
		}
		seen[key] = true
		if err := t.apply(word, key, values[0]); err != nil {
			return engine.Connection{}, err
		}
	}
	if t.instance != "" && t.database == "" {
		return engine.Connection{}, errors.New("the path of a sqlserver:// URL names an instance: write the database as ?database=…")
	}
	return t.connection()
}

// IdentityConnection is the connection that the settings X__server, X__database, X__credential and X__clientId
// describe: SQL Server by an identity, without a secret (Functions' convention for identity-based connections).
// credential is managedidentity, with clientID for a user-assigned identity, or empty for the default chain of
// azidentity, which is the developer's own login on a developer's machine.
func IdentityConnection(server, database, credential, clientID string) (engine.Connection, error) {
	t := target{options: map[string]string{}, database: strings.TrimSpace(database)}
	fail := func(err error) (engine.Connection, error) {
		return engine.Connection{}, fmt.Errorf("%w: identity connection: %w", change.ErrConfig, err)
	}
	if err := setADOServer(&t, strings.TrimSpace(server)); err != nil {
		return fail(fmt.Errorf("__server %w", err))
	}
	switch strings.ToLower(strings.TrimSpace(credential)) {
	case "managedidentity":
		t.fedauth, t.user = azuread.ActiveDirectoryManagedIdentity, strings.TrimSpace(clientID)
	case "":
		if t.user = strings.TrimSpace(clientID); t.user != "" {
			t.fedauth = azuread.ActiveDirectoryManagedIdentity
		} else {
			t.fedauth = azuread.ActiveDirectoryDefault
		}
	default:
		return fail(errors.New("__credential must be managedidentity, or be left out"))
	}
	c, err := t.connection()
	if err != nil {
		return fail(err)
	}
	return c, nil
}

func (t *target) apply(word keyword, key, value string) error {
	if word.set == nil {
		return fmt.Errorf("the keyword %q is not supported: %s", key, word.remedy)
	}
	if isPlaceholder(value) {
		return fmt.Errorf("the value of %q is still a placeholder: put the real one there", key)
	}
	if err := word.set(t, value); err != nil {
		return fmt.Errorf("the keyword %q %w", key, err)
	}
	return nil
}

// isPlaceholder recognises what the portal and tutorials leave to be filled in: {your_password}, <server>.
func isPlaceholder(value string) bool {
	return len(value) > 2 && (strings.HasPrefix(value, "{your") && strings.HasSuffix(value, "}") ||
		strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">"))
}

// setADOServer reads [tcp:]host[\instance][,port].
func setADOServer(t *target, value string) error {
	value = strings.TrimSpace(value)
	if prefix, rest, found := strings.Cut(value, ":"); found {
		switch strings.ToLower(prefix) {
		case "tcp":
			value = rest
		case "np", "lpc", "admin":
			return errors.New("names a protocol that is not supported: only tcp: is")
		}
	}
	host, port, hasPort := strings.Cut(value, ",")
	host, instance, hasInstance := strings.Cut(strings.TrimSpace(host), `\`)
	host = strings.Trim(strings.TrimSpace(host), "[]")
	switch strings.ToLower(host) {
	case ".", "(local)":
		host = "localhost"
	case "(localdb)":
		return errors.New("names LocalDB, which exists on Windows only: use a SQL Server that listens on TCP")
	case "":
		return errors.New("names no host")
	}
	if strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return errors.New(`must be host,port with a comma, as in tcp:host,1433`)
	}
	if hasPort && strings.TrimSpace(port) == "" || hasInstance && instance == "" {
		return errors.New(`must be [tcp:]host[\instance][,port]`)
	}
	t.host, t.instance = host, strings.TrimSpace(instance)
	if hasPort {
		t.port = strings.TrimSpace(port)
	}
	return nil
}
