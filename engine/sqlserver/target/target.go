// Package target reads what a connection string of SQL Server says: sqlserver://…, the ADO.NET form, or the settings of
// an identity. It checks all of it, and writes it in the words of go-mssqldb.
//
// No error shows any part of a string that could be secret: see package dsn.
package target

import (
	"errors"
	"fmt"
	"strings"

	"github.com/microsoft/go-mssqldb/azuread"

	"github.com/rowrelay/rowrelay/engine/dsn"
)

// Parse reads and checks a connection string of either form.
func Parse(text string) (*Target, error) {
	read := parseADO
	if strings.HasPrefix(strings.ToLower(text), "sqlserver://") {
		read = parseURL
	}
	t, err := read(text)
	if err != nil {
		return nil, err
	}
	return t, t.check()
}

// ByIdentity is what the settings X__server, X__database, X__credential and X__clientId describe, checked: see
// sqlserver.IdentityConnection.
func ByIdentity(server, database, credential, clientID string) (*Target, error) {
	t := &Target{options: map[string]string{}, database: strings.TrimSpace(database)}
	if err := setServer(t, strings.TrimSpace(server)); err != nil {
		return nil, fmt.Errorf("__server %w", err)
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
		return nil, errors.New("__credential must be managedidentity, or be left out")
	}
	return t, t.check()
}

// parseADO reads the ADO.NET form.
func parseADO(text string) (*Target, error) {
	pairs, err := dsn.SplitADO(text)
	if err != nil {
		return nil, err
	}
	t := &Target{options: map[string]string{}}
	known := keywords()
	seen := map[string]bool{}
	secretBefore := false
	for i, p := range pairs {
		word, ok := known[p.Key]
		if p.Key == "sslmode" { // mostly the last, after the password
			return nil, fmt.Errorf("the keyword %q is one of MySQL's and PostgreSQL's, not of SQL Server's", p.Key)
		}
		if !ok && (secretBefore || !dsn.Nameable(p.Key)) {
			return nil, fmt.Errorf("entry %d does not begin with a keyword that is known: a password that holds a "+
				"semicolon must be quoted (Password=\"…\")", i+1)
		}
		if !ok {
			return nil, fmt.Errorf("the keyword %q is not known: it is misspelt, or must be removed", p.Key)
		}
		if seen[p.Key] {
			return nil, fmt.Errorf("the keyword %q stands twice: remove one", p.Key)
		}
		seen[p.Key] = true
		if err := t.apply(word, p.Key, p.Value); err != nil {
			return nil, err
		}
		// From a password on, a piece that is no keyword may be the password's own.
		secretBefore = secretBefore || p.Key == "password" || p.Key == "pwd"
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
func parseURL(text string) (*Target, error) {
	u, query, err := dsn.ParseURL(text)
	if err != nil {
		return nil, err
	}
	t := &Target{host: u.Hostname(), port: u.Port(), options: map[string]string{}}
	if u.User != nil {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	if t.instance = strings.Trim(u.Path, "/"); strings.Contains(t.instance, "/") {
		return nil, errors.New("the path of a sqlserver:// URL names an instance, one word: write the database as ?database=…")
	}
	known := keywords()
	seen := map[string]bool{}
	for name, values := range query {
		key := strings.ToLower(strings.ReplaceAll(name, " ", ""))
		if key == "server" || key == "datasource" || key == "port" {
			return nil, fmt.Errorf("the parameter %q has no place in a URL: the server stands after sqlserver://", key)
		}
		word, ok := known[key]
		if !ok && !dsn.Nameable(key) {
			return nil, dsn.ErrURL
		}
		if !ok {
			return nil, fmt.Errorf("the parameter %q is not known: it is misspelt, or must be removed", key)
		}
		if len(values) > 1 || seen[key] {
			return nil, fmt.Errorf("the parameter %q stands twice: remove one", key)
		}
		seen[key] = true
		if err := t.apply(word, key, values[0]); err != nil {
			return nil, err
		}
	}
	if t.instance != "" && t.database == "" {
		return nil, errors.New("the path of a sqlserver:// URL names an instance: write the database as ?database=…")
	}
	return t, nil
}

func (t *Target) apply(word keyword, key, value string) error {
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
