package target

import (
	"errors"
	"net"
	"strings"
)

// Target is a server, a database and a login, in go-mssqldb's words.
type Target struct {
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

// setServer reads [tcp:]host[\instance][,port].
func setServer(t *Target, value string) error {
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
